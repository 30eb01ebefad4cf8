// What became of actions, as sentences for the live region (F55): each once, in the window's language.

import type { ActionDoc } from "../bindings/ActionDoc";
import type { NewsDoc } from "../bindings/NewsDoc";
import { w } from "../words";
import { emailOf } from "./payload";
import { handedOverAgain, standing } from "./standing";
import { moment } from "./time";

/** Who an action is about: the customer, else who it goes to, else its number. */
export function whoOf(doc: ActionDoc): string {
  const to = emailOf(doc.payload).to[0];
  return doc.conversation?.from_name ?? to?.name ?? to?.email ?? doc.id;
}

/** `docs`: what the engine holds of the actions by now. Drafts that arrive together are one sentence. */
export function sentences(news: readonly NewsDoc[], docs: ReadonlyMap<string, ActionDoc>, now: number, owner: string): string[] {
  const out: string[] = [];
  const drafts = [...new Set(news.filter((one) => one.what === "draft_waiting").map((one) => one.action))];
  const first = docs.get(drafts[0] ?? "");
  if (drafts.length > 1) out.push(w.saidDrafts(drafts.length));
  else if (first) out.push(w.saidDraft(whoOf(first)));
  // Several of one action that arrive together are one sentence: what it came to.
  const last = new Map(news.filter((one) => one.what !== "draft_waiting").map((one) => [one.action, one.what]));
  for (const [action, what] of last) {
    const doc = docs.get(action);
    if (!doc) continue;
    if (what === "accepted") out.push(w.saidAccepted(doc.destination, moment(doc.receipt?.at ?? doc.changed_at, now)));
    else if (what === "unknown") out.push(handedOverAgain(doc.attempts) ? w.saidUnknownAgain(whoOf(doc)) : w.saidUnknown(whoOf(doc)));
    else out.push(w.saidState(whoOf(doc), standing(doc, now, owner).label));
  }
  return out;
}
