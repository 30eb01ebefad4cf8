// An in-memory engine for a plain browser: Vitest, the browser tests and work on the page without Rust. It behaves, so
// that each way through the window can be walked: approving, the hold, undo, acceptance, lost answers, verdicts.

import type { ActionDoc } from "../bindings/ActionDoc";
import type { ActionRow } from "../bindings/ActionRow";
import type { ApprovedOne } from "../bindings/ApprovedOne";
import type { ErrorDoc } from "../bindings/ErrorDoc";
import type { FeedEvent } from "../bindings/FeedEvent";
import type { OfferDoc } from "../bindings/OfferDoc";
import type { Overview } from "../bindings/Overview";
import type { ProbeStep } from "../bindings/ProbeStep";
import { bytesOf } from "../lib/base64";
import { emailOf } from "../lib/payload";
import { placeholders } from "../lib/placeholders";
import { momentOf } from "../lib/sendat";
import type { Backend, View } from "./index";
import { insightsOf, pastRows, tallyOf } from "./fake-counts";
import { OWNER, ago, destinations, email, finding, notTakenRows, seeds, seq } from "./fake-data";
import { fakeFiles } from "./fake-files";
import { sandbox } from "./fake-sandbox";
import { setUp } from "./fake-setup";

const ask = new URLSearchParams(typeof location === "undefined" ? "" : location.search);
const flag = (name: string) => ask.has(name);

function refuse(code: string, message: string, more: Partial<ErrorDoc> = {}): never {
  throw { code, message, ...more } satisfies ErrorDoc;
}

async function sha256(text: string): Promise<string> {
  return hex(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

const digestOf = async (base64: string) => hex(await crypto.subtle.digest("SHA-256", bytesOf(base64)));

function hex(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (b) => b.toString(16).padStart(2, "0")).join("");
}

const hash = (doc: ActionDoc, payload: unknown) => sha256(`countersign/payload/v1\n${doc.id}${JSON.stringify(payload)}`);

function views(doc: ActionDoc): View[] {
  switch (doc.state) {
    case "prepared":
      return ["awaiting"];
    case "approved":
      return ["on_the_way", "history"];
    case "in_progress":
      return ["on_the_way", "history"];
    case "unknown":
    case "closed_unknown":
      return ["unknown", "history"];
    case "needs_review":
      return ["needs_review"];
    case "refused":
    case "gave_up":
      return doc.revised ? ["history"] : ["needs_review", "history"];
    default:
      return ["history"];
  }
}

function offersOf(doc: ActionDoc): OfferDoc[] {
  const who = doc.conversation?.from_name?.split(" ")[0] ?? "The customer";
  const offer = (what: string, offered: boolean, text: string, suggested = false): OfferDoc => ({ what, offered, suggested, text });
  if (doc.state === "unknown" || doc.state === "closed_unknown") {
    const open = doc.state === "unknown";
    const list = [
      offer("ask", true, "Only looks. Sends nothing. Settles most cases within 10 minutes.", open && doc.contract?.certainty !== 3),
      doc.contract?.certainty === 3 ? offer("finish", open && doc.attempts.length < 3, `${doc.destination} answers a repeat with the first result until 10:15 tomorrow. If the first one got through you get its receipt.`, open) : offer("finish", false, `Not offered. This mailbox can’t recognise a repeat, so ${who} could get it twice.`),
      offer("happened", open, `For example, ${who} answered. Recorded as accepted, on your word.`),
      offer("did_not_happen", open, doc.revised ? `Not offered. ${doc.revised_by} follows it, so this one never goes again.` : `You sign it. The same message goes again; ${who} may get it twice if you are wrong.`),
      offer("revise", !doc.revised, doc.revised ? `Done: ${doc.revised_by} follows it.` : `A new action with its own approval. ${who} may get two messages.`),
      offer("leave", open, "Stops asking. History keeps showing it as unknown."),
    ];
    return open ? list : list.filter((x) => x.what === "ask" || x.what === "revise");
  }
  if (doc.state === "needs_review" && doc.crossed_once) return [offer("approve", true, "Same bytes, same key. A change is a new action.", true), offer("reject", true, "Nothing will be sent."), offer("revise", true, "A new action with its own key and approval.")];
  if (doc.state === "needs_review" && !doc.request_id) return [offer("confirm", true, "It gets its key and waits in Awaiting.", true), offer("reject", true, "Nothing will be sent.")];
  if (doc.state === "needs_review") return [offer("confirm", true, "It goes back to Awaiting, for a new approval.", true), offer("edit", true, "Back to Awaiting, with your changes."), offer("reject", true, "Nothing will be sent.")];
  if (doc.state === "refused") return [offer("approve", false, "Not offered. A refusal by this mailbox is final for these bytes."), offer("revise", !doc.revised, "Other words or other recipients, with their own approval.", true)];
  if (doc.state === "gave_up") return [offer("approve", true, "Once the cause is mended. Same bytes, same key.", true), offer("revise", !doc.revised, "Other words or other recipients, with their own approval.")];
  if (doc.state === "approved") return [offer("undo", true, "Puts it back in Awaiting."), offer("release", doc.after !== null, "Sends it without waiting.")];
  if (doc.state === "prepared") return [offer("approve", true, ""), offer("edit", !doc.crossed_once, ""), offer("reject", true, "")];
  return [offer("revise", !doc.revised, "Sends a second message. It does not change the first.")];
}

function row(doc: ActionDoc): ActionRow {
  const mail = emailOf(doc.payload);
  const heavy = doc.findings.find((f) => (f.weight === "stop" || f.weight === "look") && !f.cleared) ?? null;
  return {
    id: doc.id,
    environment: doc.environment,
    source: doc.source,
    request_id: doc.request_id,
    step: doc.step,
    effect: doc.effect,
    destination: doc.destination,
    state: doc.state,
    reason: doc.reason,
    in_doubt: doc.attempts.some((a) => a.in_doubt && a.phase !== "closed"),
    crossed_once: doc.crossed_once,
    who: doc.conversation?.from_name ?? mail.to[0]?.name ?? mail.to[0]?.email ?? "",
    email: doc.conversation?.from_email ?? mail.to[0]?.email ?? "",
    subject: doc.state === "prepared" || doc.state === "needs_review" || !doc.effect.startsWith("email.") ? (doc.conversation?.subject ?? mail.subject) : mail.subject,
    at: doc.state === "prepared" ? doc.created_at : doc.changed_at,
    payload_hash: doc.payload_hash,
    payload_version: doc.payload_version,
    finding: heavy,
    findings_open: doc.findings.filter((f) => f.holds && !f.cleared).length,
    // As the ledger has it: a line does not know its payload, so what goes within the hour looks like a hold.
    next: doc.next?.what === "scheduled" ? { what: Date.parse(doc.next.at ?? "") - Date.now() < 3_600_000 ? "undo_ends" : "scheduled", at: doc.next.at, text: "" } : doc.next,
    asked: doc.lookups.length,
    receipt: doc.receipt?.reference ?? null,
  };
}

function many(count: number, i: number): ActionRow {
  const doc = email(`A-${900_000 + i}`, { name: `Customer ${i + 1}`, email: `customer${i + 1}@many.example`, subject: `Question ${i + 1} of ${count}`, theirs: "Hello?", ours: "Hello.", minutes: 30 + i * 3 });
  return { ...row({ ...doc, payload_hash: (i * 2654435761).toString(16).padStart(64, "a").slice(0, 64) }) };
}

export async function makeFake(): Promise<Backend> {
  const docs = new Map<string, ActionDoc>();
  const kept = new Map<string, string>();
  const feeds = new Set<(event: FeedEvent) => void>();
  const probes = new Set<(step: ProbeStep) => void>();
  const opens = new Set<(id: string) => void>();
  const quits = new Set<(held: number, soon: number) => void>();
  const goes = new Set<(screen: string) => void>();
  const files = new Map<string, string>();
  const timers = new Map<string, ReturnType<typeof setTimeout>>();
  const mailboxes = structuredClone(destinations);
  const undoSeconds = Number(ask.get("undo") ?? 10);
  const count = Number(ask.get("many") ?? 0);
  let at = 20_500;
  let next = 2051;
  let locked = flag("locked");
  let sending = ask.get("sending") !== "0";
  let homed = !flag("first");
  let environment = "live";
  let frozen = ask.get("frozen");
  let refused = flag("empty") ? [] : notTakenRows();

  async function load(list: ActionDoc[]): Promise<void> {
    for (const doc of list) {
      // Without a request there is no key, and without a key no fingerprint.
      doc.payload_hash = doc.request_id ? await hash(doc, doc.payload) : "";
      for (const approval of doc.approvals) approval.payload_hash = doc.payload_hash;
      docs.set(doc.id, doc);
    }
  }
  if (homed && !flag("empty")) await load(seeds());

  const past = flag("past") ? pastRows(row([...docs.values()].find((doc) => doc.state === "accepted") ?? (seeds()[0] as ActionDoc))) : [];
  const mine = () => [...docs.values()].filter((doc) => doc.environment === environment);

  const get = (id: string): ActionDoc => docs.get(id) ?? refuse("not_found", `There is no action ${id}.`);
  const shown = (doc: ActionDoc): ActionDoc => structuredClone({ ...doc, offers: offersOf(doc) });

  function tell(ids: string[], what: string | null): void {
    at++;
    for (const feed of feeds) feed({ seq: seq(at) as FeedEvent["seq"], actions: ids, news: what === null ? [] : ids.map((action) => ({ action, what })) });
  }

  function note(doc: ActionDoc, fact: string, by: string, text: string): void {
    at++;
    doc.changed_at = new Date().toISOString();
    doc.journal.push({ seq: seq(at), at: doc.changed_at, fact, by, text });
  }

  function later(id: string, ms: number, run: () => void): void {
    clearTimeout(timers.get(id));
    timers.set(id, setTimeout(run, ms));
  }

  function leave(doc: ActionDoc): void {
    if (!sending) return;
    doc.state = "in_progress";
    doc.next = null;
    doc.crossed_once = true;
    const n = doc.attempts.length + 1;
    const now = new Date().toISOString();
    doc.attempts.push({ id: `t-${doc.id}-${n}`, number: n, started_at: now, phase: "crossed", crossed_at: now, closed_at: null, in_doubt: false, outcome: "open", evidence: {} });
    note(doc, "crossing", "worker", `Attempt ${n} to ${doc.destination}`);
    tell([doc.id], null);
    later(doc.id, 700, () => settle(doc));
  }

  function settle(doc: ActionDoc): void {
    const attempt = doc.attempts[doc.attempts.length - 1];
    if (!attempt) return;
    attempt.phase = "closed";
    attempt.closed_at = new Date().toISOString();
    if (doc.id === "A-2049") {
      attempt.outcome = "unclear";
      doc.state = "unknown";
      doc.next = { what: "look", at: ago(-1), text: "" };
      note(doc, "unclear", "destination", "Line dropped, no answer. Marked Unknown.");
      tell([doc.id], "unknown");
      return;
    }
    attempt.outcome = "accepted";
    doc.state = "accepted";
    doc.receipt = { kind: "answer", at: attempt.closed_at, reference: "4F2C81", text: "250 2.0.0 queued as 4F2C81", by: null };
    doc.explanation = "There was one attempt. It carried the one key of this action, and the mailbox answered it with a receipt.";
    note(doc, "accepted", "destination", `Accepted, receipt 4F2C81. ${doc.destination} has taken the message. It does not say that it was delivered or read.`);
    tell([doc.id], "accepted");
  }

  function overview(): Overview {
    const all = [...docs.values()].filter((d) => d.environment === environment);
    const requests = (view: View, extra: (d: ActionDoc) => boolean = () => true) =>
      new Set(all.filter((d) => views(d).includes(view) && extra(d)).map((d) => d.request_id ?? d.id)).size;
    return {
      home_exists: homed,
      owner: homed ? OWNER : "",
      environment,
      environments: ["live", "sandbox"],
      counts: {
        // As the ledger does: a thousand are counted.
        more: count > 1000 ? ["awaiting"] : [],
        awaiting: Math.min(count, 1000) || requests("awaiting"),
        on_the_way: requests("on_the_way"),
        unknown: requests("unknown", (d) => d.state === "unknown"),
        needs_review: requests("needs_review") + refused.length,
      },
      sending,
      frozen,
      frozen_text: null,
      another_dispatcher: flag("other"),
      locked,
      no_keychain: flag("nokeychain") && homed ? "Start a key store such as gnome-keyring, or set one up with a passphrase." : null,
      destinations: mailboxes.filter((m) => m.environment === environment).map((m) => ({ ...m, undo_seconds: flag("undo") ? undoSeconds : m.undo_seconds, health: flag("down") ? "paused" : m.health })),
      quiet: false,
      seq: seq(at) as Overview["seq"],
      now: new Date().toISOString(),
    };
  }

  /** Work that lasts longer than anybody waits. */
  const never = () => new Promise<never>(() => undefined);
  const decide = (): void => {
    if (locked) refuse("locked", "The key is locked. Unlock it first.");
  };

  const fake: Backend = {
    overview: async () => overview(),
    async setEnvironment(name) {
      environment = name;
      if (name === "sandbox" && ![...docs.values()].some((d) => d.environment === "sandbox")) await load(sandbox());
      return overview();
    },
    async firstRun(owner, withSandbox, passphrase) {
      if (!owner.trim()) refuse("bad_input", "A name is needed.", { field: "owner" });
      if (flag("nokeychain") && !passphrase) refuse("not_permitted", "there is no system keychain here (no Secret Service answered on the session bus)", { field: "secrets" });
      homed = true;
      environment = withSandbox ? "sandbox" : "live";
      if (withSandbox) await load(sandbox());
      return { ...overview(), owner };
    },
    secretsFile: async () => "/home/noor/.local/share/countersign.secrets",
    async list(view, state, after, limit) {
      const from = after ? Number(after) : 0;
      if (count && (view === "awaiting" || view === "history")) {
        const to = Math.min(count, from + limit);
        const actions: ActionRow[] = [];
        for (let i = from; i < to; i++) actions.push(many(count, i));
        return { actions, next: to < count ? String(to) : null };
      }
      const all = [...docs.values()]
        .filter((d) => d.environment === environment && views(d).includes(view) && (!state || d.state === state))
        .map(row)
        .concat(view === "history" ? past.filter((one) => !state || one.state === state) : [])
        .sort((a, b) => (a.at < b.at ? 1 : -1));
      return { actions: all.slice(from, from + limit), next: from + limit < all.length ? String(from + limit) : null };
    },
    notTaken: async () => refused,
    async search(text, filters, after) {
      if (flag("slow") && text.includes("slow")) return never();
      const wanted = text.toLowerCase();
      const from = after ? Number(after) : 0;
      const all = [...docs.values()]
        .filter((d) => d.environment === environment)
        .map(row)
        .concat(past)
        .filter((r) => `${r.who} ${r.email} ${r.subject} ${r.id} ${r.payload_hash} ${r.receipt ?? ""}`.toLowerCase().includes(wanted))
        .filter((r) => (!filters.state || r.state === filters.state) && (!filters.destination || r.destination === filters.destination) && (!filters.from || r.at >= filters.from))
        .sort((a, b) => (a.at < b.at ? 1 : -1));
      return { actions: all.slice(from, from + 100), next: from + 100 < all.length ? String(from + 100) : null };
    },
    tally: async (starts, destination) => tallyOf(mine(), past, starts, destination),
    insights: async (starts) => insightsOf(mine(), past, starts),
    async wire(id) {
      const doc = get(id);
      const mail = emailOf(doc.payload);
      const stored = doc.approvals.some((approval) => approval.counts);
      const text = doc.effect.startsWith("email.")
        ? [`Date: ${new Date(doc.created_at).toUTCString()}`, `From: ${mail.from.name ?? ""} <${mail.from.email}>`, `To: ${mail.to.map((box) => `${box.name ?? ""} <${box.email}>`).join(",\r\n ")}`, `Subject: ${mail.subject}`, `Message-ID: <${doc.idempotency_key ?? id}@brackenhall.example>`, `X-Countersign-Key: ${doc.idempotency_key ?? id}`, "MIME-Version: 1.0", 'Content-Type: text/plain; charset="utf-8"', "Content-Transfer-Encoding: 8bit", "", mail.text ?? ""].join("\r\n")
        : JSON.stringify(doc.payload, null, 1);
      return { stored, hash: stored ? "9d".repeat(32) : null, size: new TextEncoder().encode(text).length, text, cut: false };
    },
    action: async (id) => shown(get(id)),
    async bundle(id) {
      if (count && id.startsWith("A-9")) {
        const i = Number(id.slice(2)) - 900_000;
        const doc = email(id, { name: `Customer ${i + 1}`, email: `customer${i + 1}@many.example`, subject: `Question ${i + 1} of ${count}`, theirs: "Hello?", ours: "Hello.", minutes: 30 + i * 3 });
        await load([doc]);
      }
      const doc = get(id);
      const list = [...docs.values()].filter((d) => d.id === id || (doc.request_id !== null && d.request_id === doc.request_id && d.source === doc.source && !d.revised && d.revises === null));
      return (list.length ? list : [doc]).map(shown);
    },
    fingerprint: async (id, payload) => ({ payload_hash: await hash(get(id), payload) }),
    async findings(id, payload) {
      const mail = emailOf(payload);
      const added = [...mail.to, ...mail.cc, ...mail.bcc].map((box, i) => ({ box, i })).filter(({ box }) => !JSON.stringify(get(id).payload).includes(box.email));
      const unfilled = (["subject", "text"] as const).flatMap((field) => {
        const open = [...new Set(placeholders(mail[field] ?? "").map((place) => place.text))];
        return open.length ? [finding("unfilled_placeholder", field, "look", `Still to be filled: ${open.join(", ")}.`, true)] : [];
      });
      const due = mail.send_at && momentOf(mail.send_at);
      const when = mail.send_at ? [finding("sent_later", due ? "send_at" : "send_at.local", due ? "note" : "stop", due ? `Goes at ${mail.send_at.local.replace("T", " ")} in ${mail.send_at.zone} (UTC${due.offset}), which is ${new Date(due.at).toISOString().slice(0, 19)}Z.` : "Its time is no time there.", !due)] : [];
      return [...get(id).findings.filter((f) => f.code !== "unfilled_placeholder" && f.code !== "sent_later"), ...unfilled, ...when, ...added.map(({ box, i }) => finding("first_time", `cc[${i}].email`, "note", `You have never written to ${box.email}.`, false))];
    },
    async clearFinding(id, code, field) {
      const doc = get(id);
      for (const f of doc.findings) if (f.code === code && f.field === field) f.cleared = `${OWNER}, just now`;
      tell([id], null);
      return shown(doc);
    },
    async edit(id, replaces, payload) {
      const doc = get(id);
      if (doc.payload_version !== replaces) refuse("conflict", `Version ${doc.payload_version} is current.`, { action: id });
      const at = emailOf(payload).send_at;
      if (at && !momentOf(at)) refuse("bad_input", "That is no time, or two.", { field: "send_at.local" });
      doc.first_payload ??= doc.payload;
      doc.previous_payload = doc.payload_version > 1 && doc.payload !== doc.first_payload ? doc.payload : null;
      doc.findings = await fake.findings(id, payload);
      doc.payload = payload;
      doc.payload_version++;
      doc.payload_hash = await hash(doc, payload);
      doc.state = "prepared";
      note(doc, "edited", OWNER, `You edited it: version ${doc.payload_version}`);
      tell([id], null);
      return shown(doc);
    },
    async approve(id, payloadHash) {
      decide();
      const doc = get(id);
      if (doc.state === "approved" || doc.state === "in_progress") return shown(doc);
      if (!/^[0-9a-f]{64}$/.test(payloadHash)) refuse("bad_input", "The whole fingerprint is needed.", { field: "payload_hash" });
      if (payloadHash !== doc.payload_hash) refuse("conflict", `The draft changed: version ${doc.payload_version} is current.`, { action: id });
      if (doc.findings.some((f) => f.holds && !f.cleared)) refuse("bad_input", "A check is open.", { field: "findings" });
      const now = new Date().toISOString();
      doc.approvals.push({ id: `ap-${id}-${doc.approvals.length}`, by: OWNER, device: "this laptop", at: now, payload_version: doc.payload_version, payload_hash: payloadHash, wire_hash: "9d".repeat(32), expires_at: ago(-3 * 24 * 60), counts: true });
      doc.state = "approved";
      const hold = doc.crossed_once ? 0 : undoSeconds;
      const at = emailOf(doc.payload).send_at;
      const due = at ? (momentOf(at)?.at ?? 0) : 0;
      const waits = Math.max(hold * 1000, due - Date.now());
      doc.next = due > Date.now() + hold * 1000 ? { what: "scheduled", at: new Date(due).toISOString(), text: `Goes at ${at?.local.replace("T", " ")} in ${at?.zone}. Undo puts it back.` } : hold ? { what: "undo_ends", at: ago(0, -hold), text: "" } : null;
      note(doc, "approved", OWNER, `You approved version ${doc.payload_version}. Held ${hold} s.`);
      // A browser's timer counts to 24 days; what goes later does not go here.
      if (waits < 2_000_000_000) later(id, waits + 20, () => leave(doc));
      tell([id], null);
      return shown(doc);
    },
    async approveEach(actions) {
      const done: ApprovedOne[] = [];
      for (const one of actions)
        done.push(await fake.approve(one.id, one.payload_hash).then(
          (action) => ({ id: one.id, action, error: null }),
          (error: ErrorDoc) => ({ id: one.id, action: null, error }),
        ));
      return done;
    },
    async reject(id, reason) {
      decide();
      const doc = get(id);
      doc.state = "rejected";
      doc.reason = reason;
      note(doc, "rejected", OWNER, `You declined it: ${reason}`);
      tell([id], null);
      return shown(doc);
    },
    async undo(id) {
      const doc = get(id);
      if (doc.state !== "approved") refuse("conflict", "It is being handed over.", { action: id });
      clearTimeout(timers.get(id));
      doc.state = doc.crossed_once ? "needs_review" : "prepared";
      doc.reason = doc.crossed_once ? "put_back_after_crossing" : null;
      doc.next = null;
      for (const approval of doc.approvals) approval.counts = false;
      note(doc, "put_back", OWNER, "You put it back. Nothing had left.");
      tell([id], null);
      return shown(doc);
    },
    async sendNow(id) {
      const doc = get(id);
      clearTimeout(timers.get(id));
      leave(doc);
      return shown(doc);
    },
    async release(id) {
      const doc = get(id);
      doc.after = null;
      doc.next = null;
      leave(doc);
      return shown(doc);
    },
    async confirm(id, requestId) {
      const doc = get(id);
      if (!doc.request_id && !requestId) refuse("bad_input", "A request is needed.", { field: "request_id" });
      doc.request_id ??= requestId;
      doc.state = "prepared";
      doc.reason = null;
      note(doc, "confirmed", OWNER, `You said which request it is: ${doc.request_id}`);
      tell([id], null);
      return shown(doc);
    },
    async askNow(id) {
      const doc = get(id);
      doc.lookups.push({ at: new Date().toISOString(), sighting: "not_seen", strength: "weak", text: "Searched Sent for our reference. No match." });
      note(doc, "looked", "worker", "Asked again. No match.");
      tell([id], null);
      return shown(doc);
    },
    async finish(id) {
      const doc = get(id);
      doc.attempts.push({ id: `t-${id}-${doc.attempts.length + 1}`, number: doc.attempts.length + 1, started_at: new Date().toISOString(), phase: "crossed", crossed_at: new Date().toISOString(), closed_at: null, in_doubt: true, outcome: "open", evidence: {} });
      note(doc, "repeated", OWNER, "Handed over again under the same key.");
      settle(doc);
      return shown(doc);
    },
    async attach(id, filename, contentType, base64) {
      get(id);
      if (/\.exe$/.test(filename)) refuse("bad_input", "the name cannot stand in a message", { field: "file" });
      const sha256 = await digestOf(base64);
      files.set(sha256, base64);
      return { filename, content_type: contentType, size: Math.floor((base64.replace(/=+$/, "").length * 3) / 4), sha256 };
    },
    async file(id, sha256) {
      get(id);
      return files.get(sha256) ?? fakeFiles[sha256] ?? refuse("not_found", "This action has no such file.", { field: "sha256" });
    },
    async resolve(id, verdict, evidence) {
      decide();
      const doc = get(id);
      if (verdict !== "leave" && !evidence.trim()) refuse("bad_input", "Evidence is needed.", { field: "evidence" });
      if (verdict === "happened") {
        doc.state = "accepted";
        doc.receipt = { kind: "person", at: new Date().toISOString(), reference: null, text: evidence, by: OWNER };
      } else if (verdict === "did_not_happen") {
        doc.state = doc.revised ? "superseded" : "approved";
        doc.by_word_of = OWNER;
        later(id, 400, () => leave(doc));
      } else doc.state = "closed_unknown";
      doc.next = null;
      note(doc, verdict, OWNER, evidence || "You stopped asking.");
      tell([id], verdict === "happened" ? "settled" : null);
      return shown(doc);
    },
    async revise(id) {
      const old = get(id);
      if (old.revised) refuse("conflict", `${old.revised_by} follows it already.`, { action: id });
      const fresh = structuredClone(old);
      fresh.id = `A-${next++}`;
      Object.assign(fresh, { state: "prepared", revises: old.id, revised_by: null, revised: false, approvals: [], attempts: [], lookups: [], receipt: null, filing: null, crossed_once: false, payload_version: 1, first_payload: null, reason: null, next: null, created_at: new Date().toISOString(), request_id: old.request_id });
      if (fresh.key) fresh.key.revision++;
      fresh.findings = fresh.findings.map((f) => ({ ...f, cleared: null }));
      fresh.draft = { source: OWNER, run_id: null, model: null, reason: null, at: fresh.created_at };
      fresh.journal = [];
      note(fresh, "revised", OWNER, `You wrote it as a new action after ${old.id}`);
      fresh.payload_hash = await hash(fresh, fresh.payload);
      docs.set(fresh.id, fresh);
      old.revised = true;
      old.revised_by = fresh.id;
      if (["prepared", "needs_review", "approved", "refused", "gave_up", "rejected"].includes(old.state)) old.state = "superseded";
      tell([old.id, fresh.id], null);
      return shown(fresh);
    },
    async fileCopy(id) {
      const doc = get(id);
      doc.filing = { state: "filed", text: "Filed once, from the same bytes." };
      return shown(doc);
    },
    async keepText(id, text) {
      kept.set(id, text);
      if (!text) kept.delete(id);
    },
    keptText: async (id) => kept.get(id) ?? null,
    async unlock(passphrase) {
      if (passphrase === "wrong") refuse("locked", "That passphrase doesn’t open this key.", { field: "passphrase" });
      locked = false;
      return overview();
    },
    async lock() {
      locked = true;
      return overview();
    },
    async sending(on) {
      decide();
      sending = on;
      if (on) for (const doc of docs.values()) if (doc.state === "approved" && doc.next?.what !== "undo_ends" && !doc.after && !doc.attempts.length) leave(doc);
      return overview();
    },
    async unfreeze(adopt) {
      decide();
      if (!adopt && ["restored", "copied", "rolled_back", "anchor_lost"].includes(frozen ?? "")) refuse("conflict", "It has to be taken over.");
      frozen = null;
      return overview();
    },
    exportText: async (format) => (flag("slow") ? never() : format === "csv" ? "when,who,subject,state\n" : JSON.stringify([...docs.values()])),
    ...setUp({ mailboxes, probes, flag, refuse, decide, environment: () => environment, rows: () => [...docs.values()] }),
    quit: async (putBack) => {
      if (putBack) for (const doc of docs.values()) if (doc.state === "approved" && doc.next?.what === "undo_ends") await fake.undo(doc.id);
      document.documentElement.dataset["quit"] = putBack ? "put back" : "as it is";
    },
    zoom: async (factor) => {
      document.documentElement.dataset["zoom"] = String(factor);
    },
    uiReady: async () => {
      document.documentElement.dataset["ready"] = "true";
    },
    async onFeed(to) {
      feeds.add(to);
      return () => feeds.delete(to);
    },
    async onProbe(to) {
      probes.add(to);
      return () => probes.delete(to);
    },
    async onOpen(to) {
      opens.add(to);
      return () => opens.delete(to);
    },
    async onGo(to) {
      goes.add(to);
      return () => goes.delete(to);
    },
    async onQuit(to) {
      quits.add(to);
      return () => quits.delete(to);
    },
  };

  // The browser tests reach in here to play the engine's part: a newer draft, a click on a notification.
  Object.assign(window, {
    __fake: {
      /** What the engine alone decides about everything: frozen, sending, the key. */
      set(what: { frozen?: string | null; sending?: boolean; locked?: boolean; health?: string }) {
        if (what.frozen !== undefined) frozen = what.frozen;
        if (what.sending !== undefined) sending = what.sending;
        if (what.locked !== undefined) locked = what.locked;
        for (const one of mailboxes) if (what.health !== undefined && one.name === "Office mailbox") one.health = what.health;
        tell([], null);
      },
      find(id: string, code: string, field: string, text: string) {
        get(id).findings.push(finding(code, field, "stop", text, true));
        tell([id], null);
      },
      /** An action comes to another state by itself. */
      become(id: string, state: string, reason: string, what: string) {
        const doc = get(id);
        doc.state = state;
        doc.reason = reason;
        note(doc, what, "worker", reason);
        tell([id], what);
      },
      open: (id: string) => opens.forEach((to) => to(id)),
      go: (screen: string) => goes.forEach((to) => to(screen)),
      quit: () => quits.forEach((to) => to([...docs.values()].filter((doc) => doc.state === "approved" && row(doc).next?.what === "undo_ends").length, 0)),
      async redraft(id: string, text: string, more: object = {}) {
        const doc = get(id);
        doc.payload = { ...(doc.payload as object), text, ...more };
        doc.payload_version++;
        doc.payload_hash = await hash(doc, doc.payload);
        tell([id], null);
      },
      /** The first file of a draft turns into another one under the same digest. */
      swap: (id: string) => files.set(emailOf(docs.get(id)?.payload).attachments[0]?.sha256 ?? "", btoa("%PDF-1.4 another file")),
      payload: (id: string) => docs.get(id)?.payload,
      state: (id: string) => docs.get(id)?.state,
      approvals: (id: string) => docs.get(id)?.approvals.length,
      bundle: (id: string) => [...docs.values()].filter((d) => d.request_id !== null && d.request_id === docs.get(id)?.request_id && d.source === docs.get(id)?.source).map((d) => d.id),
      checks: (ids: string[]) => ids.flatMap((id) => (docs.get(id)?.findings ?? []).filter((f) => f.holds && !f.cleared).map((f) => [id, f.code, f.field])),
      clear: (id: string, code: string, field: string) => fake.clearFinding(id, code, field),
      kept: (id: string) => kept.get(id) ?? null,
    },
  });
  return fake;
}
