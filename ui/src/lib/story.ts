// An action's journal as the steps a person reads. The facts and their order are the ledger's; names, versions, keys and
// fingerprints are put beside them from the same document.

import type { ActionDoc } from "../bindings/ActionDoc";
import type { JournalDoc } from "../bindings/JournalDoc";
import type { Step } from "../components/Timeline.svelte";
import { w } from "../words";
import { listed } from "../words/list";
import { findingLabel, named } from "./standing";
import { digits } from "./seal";
import { localTimes, millis } from "./time";

const LOOKS: Record<string, [string, string]> = {
  proposed: ["source", "grey"],
  created: ["source", "grey"],
  received: ["source", "grey"],
  redrafted: ["pen", "grey"],
  edited: ["pen", "grey"],
  approved: ["sign", "ink"],
  undone: ["undo", "grey"],
  put_back: ["undo", "grey"],
  expired: ["s-approved", "plum"],
  account_changed: ["plug", "plum"],
  situation_changed: ["s-review", "plum"],
  accepted: ["s-accepted", "green"],
  found: ["s-accepted", "green"],
  said_happened: ["receipt", "ink"],
  happened: ["receipt", "ink"],
  said_did_not_happen: ["sign", "ink"],
  did_not_happen: ["sign", "ink"],
  left: ["x", "grey"],
  leave: ["x", "grey"],
  unclear: ["s-unknown", "amber"],
  stale: ["s-unknown", "amber"],
  refused: ["s-refused", "brick"],
  rejected: ["s-rejected", "grey"],
  completed: ["check", "grey"],
  confirmed: ["check", "grey"],
  revised: ["branch", "grey"],
  absent: ["ask", "grey"],
  filing: ["file", "grey"],
  finding_cleared: ["check", "plum"],
  released: ["send", "grey"],
  repeated: ["s-unknown", "amber"],
  looked: ["ask", "grey"],
};

/** A device is known by the start of its key, like a fingerprint. */
const device = (id: string) => (/^[0-9a-f]{12,}$/i.test(id) ? digits(id) : id);
const lost = (fact: string) => fact === "unclear" || fact === "stale";
const bare = (text: string) => text.trim().replace(/\.$/, "");

/** The first sentence names the step; what follows explains it. */
function split(text: string): [string, string] {
  const at = text.search(/[.?] (?=\p{L})/u);
  if (at < 0 || at > 70) return [bare(text), ""];
  return [text.slice(0, text[at] === "." ? at : at + 1), text.slice(at + 2)];
}

type Told = { title: string; text: string; hash: string | null; foreign?: boolean };

class Teller {
  #approvals = 0;
  #attempts = 0;
  #versions = 1;
  #looks = 0;
  constructor(
    readonly doc: ActionDoc,
    readonly owner: string,
  ) {}

  who(by: string): string {
    const name = by.replace(/^source /, "");
    return name === this.owner || name === "" ? w.you : name;
  }

  tell(entry: JournalDoc): Told {
    const { doc } = this;
    const who = this.who(entry.by);
    const told = (title: string, text = "", hash: string | null = null): Told => ({ title, text, hash });
    const theirs = (title: string, text: string): Told => ({ title, text, hash: null, foreign: text !== "" });
    switch (entry.fact) {
      case "proposed":
      case "created":
      case "received": {
        const first = doc.deliveries[0];
        return told(w.proposedBy(doc.source), first?.event_id ? w.eventSeen(first.event_id, doc.deliveries.length) : "");
      }
      case "redrafted":
      case "edited":
        this.#versions++;
        return told(w.versionMade(this.#versions, who), "", this.#versions === doc.payload_version ? doc.payload_hash : null);
      case "approved": {
        const given = doc.approvals[this.#approvals++];
        return given ? told(w.approvedVersion(this.who(given.by), given.payload_version), w.signedOn(device(given.device)), given.payload_hash || null) : told(w.approvedVersion(who, doc.payload_version));
      }
      case "undone":
      case "put_back":
        return told(w.putBackBy(who));
      case "rejected":
        return theirs(w.rejectedBy(who), doc.reason ?? "");
      case "completed":
      case "confirmed":
        return told(w.completedBy(who), doc.request_id ?? "");
      case "revised":
        return told(w.revisedBy(who), doc.revised_by ?? "");
      case "claimed":
        this.#attempts++;
        return told(w.attemptTo(this.#attempts, doc.destination), doc.idempotency_key ? w.attemptKey(doc.idempotency_key) : "");
      case "crossed":
      case "crossing":
        return told(w.fullyHanded);
      case "unclear":
      case "stale":
        return told(w.noAnswer, [doc.state === "unknown" ? (doc.reason ?? "") : "", w.nothingElse].filter(Boolean).map((x) => `${bare(x)}.`).join(" "));
      case "accepted":
        return told(w.acceptedBy(doc.destination), [doc.receipt ? `${bare(w.receiptIs(doc.receipt.text))}.` : "", w.acceptedLimits].filter(Boolean).join(" "));
      case "found":
        return theirs(w.foundIt, doc.receipt?.text ?? "");
      case "not_sent":
        return theirs(w.notTakenTry, doc.reason ?? "");
      case "said_happened":
      case "happened":
        return theirs(w.wordHappened(who), doc.receipt?.text ?? "");
      case "said_did_not_happen":
      case "did_not_happen":
        return told(w.wordNot(who));
      case "looked": {
        const look = doc.lookups[this.#looks++];
        if (look) return theirs(w.lookedUp, look.text);
        const [title, text] = split(entry.text);
        return theirs(title, text);
      }
      case "absent":
        return told(w.absentSure);
      case "expired":
        return told(w.expiredStep);
      case "situation_changed":
        return theirs(w.situationStep, doc.state === "needs_review" ? (doc.reason ?? "") : "");
      case "account_changed":
        return told(w.accountStep);
      case "released":
        return told(w.releasedStep(who));
      case "repeated":
        return told(w.repeatedStep);
      case "finding_cleared":
        return told(w.checkStep(who), listed(doc.findings.filter((f) => f.cleared).map((f) => findingLabel(f.code))));
      case "filing": {
        const last = doc.journal.filter((e) => e.fact === "filing").at(-1);
        return told(w.filingStep, doc.filing && last?.seq === entry.seq ? doc.filing.text || (w.filingState[doc.filing.state] ?? "") : "");
      }
      case "left":
      case "leave":
        return told(w.wordLeft(who));
      default: {
        // A fact this window has no words for yet keeps its own name.
        const [title, text] = split(entry.text && entry.text !== "Recorded" ? entry.text : named(entry.fact));
        return theirs(title, text);
      }
    }
  }
}

export function story(doc: ActionDoc, owner: string, now = Date.now()): Step[] {
  const teller = new Teller(doc, owner);
  const steps: (Step & { order: number })[] = doc.journal.map((entry, i) => {
    const next = doc.journal[i + 1];
    const [icon, tone] = LOOKS[entry.fact] ?? ["", ""];
    const told = teller.tell(entry);
    return {
      key: String(entry.seq),
      icon,
      tone,
      ...told,
      text: localTimes(told.text, now),
      at: entry.at,
      line: next && lost(next.fact) ? "gap" : "",
      order: millis(entry.at),
    };
  });
  // Look-ups that settled it stand in the journal as what they proved, not as a look.
  const told = doc.journal.filter((e) => e.fact === "looked").length;
  doc.lookups.forEach((look, i) => {
    if (i < told) return;
    steps.push({ key: `look-${i}`, icon: "ask", tone: "grey", title: w.lookedUp, text: localTimes(look.text, now), foreign: true, at: look.at, hash: null, line: "", order: millis(look.at) });
  });
  steps.sort((a, b) => a.order - b.order);
  const waits = doc.next && ["look", "attempt", "undo_ends"].includes(doc.next.what) ? doc.next : null;
  const last = steps[steps.length - 1];
  if (waits && last) {
    last.line = "dot";
    const titles: Record<string, string> = { look: w.askAgain, attempt: w.queued, undo_ends: w.held };
    steps.push({ key: "next", icon: "", tone: "", title: titles[waits.what] ?? w.next, text: localTimes(waits.text, now), foreign: true, at: waits.at, hash: null, line: "next", order: Infinity });
  }
  return steps;
}
