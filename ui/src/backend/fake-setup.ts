// What a person sets up, in memory: destinations, sources, preferences.

import type { DesktopDoc } from "../bindings/DesktopDoc";
import type { ActionDoc } from "../bindings/ActionDoc";
import type { DestinationRow } from "../bindings/DestinationRow";
import type { ErrorDoc } from "../bindings/ErrorDoc";
import type { OutcomeHookDoc } from "../bindings/OutcomeHookDoc";
import type { KindDoc } from "../bindings/KindDoc";
import type { Preferences } from "../bindings/Preferences";
import type { ProbeStep } from "../bindings/ProbeStep";
import type { SnippetDoc } from "../bindings/SnippetDoc";
import type { SourceRow } from "../bindings/SourceRow";
import { ago, destinations } from "./fake-data";
import type { Backend } from "./index";

type World = {
  mailboxes: DestinationRow[];
  probes: Set<(step: ProbeStep) => void>;
  flag: (name: string) => boolean;
  refuse: (code: string, message: string, more?: Partial<ErrorDoc>) => never;
  decide: () => void;
  environment: () => string;
  rows: () => ActionDoc[];
};

type Part = Pick<
  Backend,
  | "destinationKinds" | "probeDestination" | "addDestination" | "testDestination" | "prepareDestination" | "setHold" | "setRepeats" | "pauseDestination" | "signInDestination" | "removeDestination"
  | "sources" | "addSource" | "revokeSource" | "outcomeHook" | "setOutcomeHook" | "removeOutcomeHook"
  | "preferences" | "setUndoSeconds" | "setExpiryHours" | "setNotifications" | "testNotification" | "setQuietHours" | "quietUntilTomorrow" | "backUp" | "purge" | "desktop" | "setStartAtLogin" | "lookForUpdate" | "installUpdate" | "snippets" | "setSnippet" | "removeSnippet"
>;

const field = (key: string, label: string, kind: string, required: boolean, help = "", choices: string[] = [], initial = "") => ({ key, label, kind, required, default: initial, choices, help });

const kinds: KindDoc[] = [
  { name: "mailbox", title: "Mailbox (SMTP and IMAP)", effects: ["email.send", "email.reply"], secret: "password", fields: [field("from", "Senders", "list", true), field("smtp", "SMTP server", "url", true), field("imap", "IMAP server", "url", false), field("username", "User name", "text", true), field("sent_folder", "Sent folder", "text", false, "", [], "auto"), field("files_sent_itself", "Files Sent itself", "choice", false, "", ["auto", "true", "false"], "auto"), field("answer_timeout_seconds", "Answer time-out", "number", false, "", [], "600"), field("ca_file", "CA file", "file", false)] },
  { name: "resend", title: "Resend", effects: ["email.send", "email.reply"], secret: "API key", fields: [field("from", "Senders", "list", true, "One address a line; each belongs to a domain you have verified there."), field("base_url", "Address of the service", "url", false, "Only for a server of your own.", [], "https://api.resend.com"), field("answer_timeout_seconds", "Seconds to wait for an answer", "number", false, "", [], "60")] },
  { name: "webhook", title: "Webhook", effects: ["webhook.post"], secret: "signing secret", fields: [field("url", "Address", "url", true, "Where the signed call goes."), field("repeats", "What a repeat does there", "choice", true, "As its operator told you.", ["recognised", "not recognised"], "not recognised")] },
];

export function setUp(world: World): Part {
  const { mailboxes, probes, flag, refuse, decide } = world;
  const sources: SourceRow[] = flag("empty")
    ? []
    : [
        { name: "inbox-agent", environment: "live", effects: ["email.reply", "crm.note", "crm.task"], destinations: ["Office mailbox", "HubSpot", "Odoo"], signed: false, created_at: ago(60 * 24 * 90), revoked_at: null },
        { name: "quote-builder", environment: "live", effects: ["email.send"], destinations: ["Office mailbox"], signed: true, created_at: ago(60 * 24 * 30), revoked_at: null },
        { name: "late-invoice-helper", environment: "live", effects: ["email.send"], destinations: ["Office mailbox"], signed: false, created_at: ago(60 * 24 * 200), revoked_at: ago(60 * 24 * 3) },
      ];
  const call = (id: string, action: string, state: string, tries: number, last: string | null, minutes: number, next: string | null) => ({ webhook_id: id, action, state, tries, last, queued_at: ago(minutes), changed_at: ago(minutes - 1), next_at: next });
  const hooks = new Map<string, OutcomeHookDoc>([
    ["inbox-agent", { source: "inbox-agent", url: "https://agents.brackenhall.example/outcomes", calls: [call("msg_2041a", "A-1986", "delivered", 1, "answered 204", 30, null), call("msg_2038b", "A-2038", "waiting", 2, "answered 503", 12, ago(-2)), call("msg_1979c", "A-1979", "stopped", 8, "the connection was refused", 60 * 30, null)] }],
  ]);
  let desktop: DesktopDoc = { start_at_login: false, updates: flag("updates"), offered: null, installed: null };
  let preferences: Preferences = { undo_seconds: 10, expiry_hours: 72, notifications: true, notification_names: false, notifications_problem: null, quiet_until: null, quiet_from: null, quiet_to: null, secrets: "keychain", passphrase: true, home: "/home/noor/.local/share/countersign", backup_file: "/home/noor/.local/share/countersign-202611301014.backup", version: "0.1.0" };
  let snippets: SnippetDoc[] = flag("empty")
    ? []
    : [
        { name: "Delivery moved", text: "Dear {name},\n\nyour order {order} now comes on {date}. There is no extra charge.\n\nKind regards,\nNoor Brackley", fields: [{ name: "name", kind: "text" }, { name: "order", kind: "number" }, { name: "date", kind: "date" }] },
        { name: "Opening hours", text: "We are in the workshop from Monday to Friday, 8:00 to 16:00.", fields: [] },
        { name: "Price per chair", text: "Regluing the joints costs {price} a chair.", fields: [{ name: "price", kind: "amount" }] },
      ];
  const get = (name: string) => mailboxes.find((m) => m.name === name) ?? refuse("not_found", `There is no destination ${name}.`, { field: "name" });

  async function probe(kind: string, values: Record<string, string | undefined>, secret: string): Promise<ProbeStep[]> {
    const names = kind !== "mailbox" ? ["http_connect", "http_login"] : values["imap"] ? ["smtp_connect", "smtp_login", "imap_connect", "imap_login", "imap_sent"] : ["smtp_connect", "smtp_login"];
    const texts: Record<string, string> = { smtp_connect: values["smtp"] ?? "", imap_connect: values["imap"] ?? "", imap_sent: "Copies are in Sent" };
    const steps: ProbeStep[] = [];
    for (const step of names) {
      for (const tell of probes) tell({ step, state: "running", text: "", took_ms: null });
      await new Promise((done) => setTimeout(done, flag("slow") ? 600 : 40));
      const bad = /login/.test(step) && secret === "wrong";
      const result: ProbeStep = { step, state: bad ? "stopped" : "done", text: bad ? "535 5.7.8 The server doesn’t accept this user name and password." : (texts[step] ?? ""), took_ms: 90 + step.length * 17 };
      steps.push(result);
      for (const tell of probes) tell(result);
      if (bad) break;
    }
    return steps;
  }

  return {
    destinationKinds: async () => structuredClone(kinds),
    probeDestination: (form) => (flag("slow") ? new Promise<never>(() => undefined) : probe(form.kind, form.values, form.secret)),
    async addDestination(form) {
      decide();
      if (mailboxes.some((m) => m.name === form.name)) refuse("conflict", "This name was used before.", { field: "name" });
      const like = structuredClone(destinations.find((d) => d.kind === form.kind) ?? destinations[0]!);
      const added: DestinationRow = { ...like, name: form.name, kind: form.kind, account: form.values["from"] ?? form.values["url"] ?? form.name, environment: form.environment, undo_seconds: form.undo_seconds, health: "not_tried", health_text: "Not used yet" };
      mailboxes.push(added);
      return added;
    },
    async testDestination(name) {
      const one = get(name);
      if (flag("slow")) return new Promise<never>(() => undefined);
      const steps = await probe(one.kind, { smtp: "smtp.brackenhall.example:465", imap: "imap.brackenhall.example:993" }, "secret");
      return { name, account: one.account, steps, sent_folder: "Sent", size_limit: 36_700_160, sent: null, files_sent_itself: null };
    },
    async prepareDestination(name) {
      get(name);
      const step: ProbeStep = { step: "property", state: "done", text: "The property is there.", took_ms: 240 };
      for (const tell of probes) tell(step);
      return [step];
    },
    async setHold(name, seconds) {
      get(name).undo_seconds = seconds;
      return structuredClone(get(name));
    },
    async setRepeats(name, on) {
      get(name).repeats_by_itself = on;
      return structuredClone(get(name));
    },
    async pauseDestination(name, on) {
      Object.assign(get(name), on ? { health: "held", health_text: "You paused it. Approved actions wait; nothing leaves." } : { health: "reachable", health_text: "" });
      return structuredClone(get(name));
    },
    async signInDestination(name, secret) {
      decide();
      const one = get(name);
      if (secret === "wrong") refuse("not_permitted", "The sign-in is not valid any more; sign in again.");
      Object.assign(one, { health: "reachable", health_text: "" });
      return { name, account: one.account, steps: [], sent_folder: "Sent", size_limit: null, sent: null, files_sent_itself: null };
    },
    async removeDestination(name) {
      const i = mailboxes.findIndex((m) => m.name === name);
      if (i >= 0) mailboxes.splice(i, 1);
    },
    sources: async () => structuredClone(sources.filter((s) => s.environment === world.environment())),
    async addSource(name, environment, effects, to, signed) {
      decide();
      if (!/^[a-z0-9._-]{1,64}$/.test(name)) refuse("bad_input", "1 to 64 of a-z, 0-9, `-`, `_` and `.` are expected", { field: "name" });
      if (sources.some((s) => s.name === name)) refuse("conflict", "This name was used before.", { field: "name" });
      sources.push({ name, environment, effects, destinations: to, signed, created_at: new Date().toISOString(), revoked_at: null });
      return { name, token: "cs_pretend-0123456789-abcdefghijklmnop", ...(signed ? { signing_secret: "whsec_cHJldGVuZA==" } : {}) };
    },
    outcomeHook: async (name) => structuredClone(hooks.get(name) ?? { source: name, url: null, calls: [] }),
    async setOutcomeHook(name, url) {
      decide();
      if (!/^(https:\/\/|http:\/\/127\.0\.0\.1)/.test(url)) refuse("bad_input", "an address with https is expected, or one on this computer", { field: "url" });
      hooks.set(name, { source: name, url, calls: hooks.get(name)?.calls ?? [] });
      return { source: name, url, signing_secret: "whsec_cHJldGVuZC1vdXRjb21l" };
    },
    async removeOutcomeHook(name) {
      hooks.set(name, { source: name, url: null, calls: hooks.get(name)?.calls ?? [] });
    },
    async revokeSource(name) {
      for (const source of sources) if (source.name === name) source.revoked_at = new Date().toISOString();
    },
    preferences: async () => (flag("noprefs") ? refuse("internal", "The settings can’t be read just now.") : structuredClone(preferences)),
    async setUndoSeconds(seconds) {
      decide();
      return structuredClone((preferences = { ...preferences, undo_seconds: seconds }));
    },
    async setExpiryHours(hours) {
      decide();
      return structuredClone((preferences = { ...preferences, expiry_hours: hours }));
    },
    testNotification: async () => structuredClone((preferences = { ...preferences, notifications_problem: flag("nobubbles") ? "No notification service answers on this desktop, so no notifications are shown." : null })),
    setNotifications: async (on, names) => structuredClone((preferences = { ...preferences, notifications: on, notification_names: names })),
    setQuietHours: async (from, to) => structuredClone((preferences = { ...preferences, quiet_from: from, quiet_to: to })),
    quietUntilTomorrow: async (on) => structuredClone((preferences = { ...preferences, quiet_until: on ? ago(-60 * 14) : null })),
    async backUp(file) {
      if (flag("slow")) return new Promise<never>(() => undefined);
      if (!file.startsWith("/")) refuse("bad_input", "a whole path is needed, from the root of the disk", { field: "file" });
      return structuredClone(preferences);
    },
    snippets: async () => structuredClone(snippets),
    async setSnippet(insteadOf, snippet) {
      if (!snippet.name.trim()) refuse("bad_input", "1 to 80 characters are expected", { field: "name" });
      const left = snippets.filter((one) => one.name !== insteadOf);
      if (left.some((one) => one.name.toLowerCase() === snippet.name.trim().toLowerCase())) refuse("conflict", "another snippet has this name", { field: "name" });
      snippets = [...left, { ...structuredClone(snippet), name: snippet.name.trim() }].sort((a, b) => a.name.localeCompare(b.name));
      return structuredClone(snippets);
    },
    async removeSnippet(name) {
      snippets = snippets.filter((one) => one.name !== name);
      return structuredClone(snippets);
    },
    desktop: async () => structuredClone(desktop),
    async setStartAtLogin(on) {
      if (flag("nologin")) refuse("internal", "the desktop does not take it");
      return structuredClone((desktop = { ...desktop, start_at_login: on }));
    },
    async lookForUpdate() {
      if (!desktop.updates) refuse("not_permitted", "This build has no key to check a new version with, so none is asked for.");
      return structuredClone((desktop = { ...desktop, offered: "0.2.0" }));
    },
    installUpdate: async () => structuredClone((desktop = { ...desktop, installed: desktop.offered, offered: null })),
    async purge() {
      decide();
      const ended = world.rows().filter((d) => ["accepted", "rejected"].includes(d.state)).length;
      return { actions: ended, attachments: 1 };
    },
  };
}
