// From an action to what the window says about it: one place for icon, family, label and sentence (section 9).

import type { ActionDoc } from "../bindings/ActionDoc";
import type { ActionRow } from "../bindings/ActionRow";
import { w } from "../words";
import { listed } from "../words/list";
import { clock, localTimes, millis } from "./time";

export type Family = "ink" | "teal" | "green" | "amber" | "plum" | "brick" | "grey";
export type Standing = { icon: string; family: Family; label: string; sentence: string };

type Facts = {
  state: string;
  destination: string;
  step: string;
  reason: string | null;
  crossed_once: boolean;
  next: { what: string; at: string | null; text: string } | null;
  in_doubt?: boolean;
  attempts?: ActionDoc["attempts"];
  receipt?: ActionDoc["receipt"] | string | null;
  by_word_of?: string | null;
  after?: string | null;
};

/** The hold of each destination in seconds: what is approved and waits longer waits for a time of its own. */
let holds: ReadonlyMap<string, number> = new Map();

export function setHolds(destinations: readonly { name: string; undo_seconds: number }[]): void {
  holds = new Map(destinations.map((one) => [one.name, one.undo_seconds]));
}

type Waits = Pick<ActionDoc | ActionRow, "state" | "next"> & { destination?: string; at?: string };

/**
 * Approved for a time of its own (F39). A document says so; a line of a list says it only of what is more than an hour
 * away, so that a line which waits longer than its destination ever holds is one too.
 */
export function isScheduled(doc: Waits, now: number): boolean {
  if (doc.state !== "approved" || !doc.next?.at || millis(doc.next.at) <= now) return false;
  if (doc.next.what === "scheduled") return true;
  const hold = holds.get(doc.destination ?? "");
  return doc.next.what === "undo_ends" && doc.at !== undefined && hold !== undefined && millis(doc.next.at) - millis(doc.at) > hold * 1000 + 2000;
}

export function isHeld(doc: Waits, now: number): boolean {
  return doc.state === "approved" && doc.next?.what === "undo_ends" && doc.next.at !== null && millis(doc.next.at) > now && !isScheduled(doc, now);
}

export function secondsLeft(doc: Pick<ActionDoc | ActionRow, "next">, now: number): number {
  return doc.next?.at ? Math.max(0, Math.ceil((millis(doc.next.at) - now - 250) / 1000)) : 0;
}

/** A repeat under the same key crossed too: then "nothing was sent again" would not be true. */
export function handedOverAgain(attempts: ActionDoc["attempts"] | undefined): boolean {
  return attempts?.some((one) => one.number > 1 && one.crossed_at !== null) ?? false;
}

/** Over a message that is followed by another: whether it went. Nothing as long as that is not known here. */
export function wentWord(doc: Pick<ActionDoc, "state" | "by_word_of"> | null): string {
  if (!doc) return "";
  if (doc.state === "accepted") return w.alreadySent;
  if (["unknown", "closed_unknown", "in_progress"].includes(doc.state)) return w.mayHaveBeenSent;
  return doc.by_word_of ? w.byWord(doc.by_word_of) : w.notSent;
}

export function standing(doc: ActionDoc | ActionRow | Facts, now: number, owner: string): Standing {
  const facts = doc as Facts;
  const destination = facts.destination;
  const make = (icon: string, family: Family, label: string, sentence: string): Standing => ({ icon, family, label, sentence });
  const nothing = (sentence: string) => (facts.by_word_of ? w.byWord(facts.by_word_of) : sentence);
  const tries = facts.attempts?.length ?? 0;
  switch (facts.state) {
    case "prepared":
      return make("s-prepared", "ink", w.prepared, w.preparedSays);
    case "approved": {
      if (isHeld(facts as ActionDoc, now)) return make("s-approved", "ink", w.approvedHeld, w.approvedSays);
      if (isScheduled(facts as ActionDoc, now) || facts.next?.what === "scheduled") return make("s-approved", "ink", w.scheduled, facts.next?.text ? localTimes(facts.next.text, now) : w.scheduledSays(localTimes(facts.next?.at ?? "", now)));
      // What stands in the way, in the engine's words: the action it waits for, sending switched off, a paused destination.
      if (facts.next?.what === "waits_for") return make("s-waiting", "grey", facts.after ? w.waitingTurn : w.waiting, facts.after && !facts.next.text ? w.waitingTurnSays(facts.after) : w.approvedAnd(localTimes(facts.next.text, now)));
      if (facts.next?.what === "paused") return make("unplug", "plum", w.waitingPaused, nothing(w.approvedAnd(localTimes(facts.next.text, now))));
      if (facts.next?.what === "person") return make("user", "plum", w.waitingPerson, w.approvedAnd(localTimes(facts.next.text, now)));
      if (tries > 0 || facts.crossed_once)
        return make("s-approved", "ink", w.queuedTry(tries + 1, facts.next?.at ? clock(facts.next.at) : ""), nothing(w.queuedAgainSays(Math.max(1, tries))));
      return make("s-approved", "ink", w.queued, w.queuedSays(destination));
    }
    case "in_progress": {
      const doubt = facts.in_doubt ?? facts.attempts?.some((a) => a.in_doubt && a.phase !== "closed") ?? false;
      return doubt ? make("s-unknown", "amber", w.finishing, w.finishingSays(destination)) : make("s-progress", "teal", w.inProgress, w.inProgressSays(destination));
    }
    case "accepted": {
      const by = typeof facts.receipt === "object" && facts.receipt?.kind === "person" ? facts.receipt.by : null;
      if (by) return make("s-accepted", "green", by === owner ? w.acceptedOnWord : w.acceptedOnWordOf(by), w.acceptedOnWordSays(destination));
      return make("s-accepted", "green", w.accepted, w.acceptedSays(destination));
    }
    case "unknown":
      return make("s-unknown", "amber", w.unknown, handedOverAgain(facts.attempts) ? w.unknownAgainSays(destination) : w.unknownSays(destination));
    case "closed_unknown":
      return make("s-unknown", "amber", w.closedUnknown, w.closedUnknownSays);
    case "refused":
      return make("s-refused", "brick", w.refused, nothing(w.refusedSays(destination)));
    case "gave_up":
      return make("s-refused", "brick", w.gaveUp, nothing(w.gaveUpSays(tries)));
    case "rejected":
      return make("s-rejected", "grey", w.rejected, nothing(w.rejectedSays));
    case "superseded":
      return make("s-superseded", "grey", w.superseded, nothing(w.supersededSays));
    default:
      return make("s-review", "plum", w.needsReview, w.needsReviewSays);
  }
}

export type ReviewReason = "identity" | "situation" | "expired" | "put_back" | "other";

/** Why an action needs review, from the engine's reason and from facts that don't depend on its wording. */
export function reviewReason(doc: { reason: string | null; crossed_once: boolean; request_id: string | null }): ReviewReason {
  const reason = (doc.reason ?? "").toLowerCase();
  if (doc.request_id === null || /identity|request_id|event_id/.test(reason)) return "identity";
  if (/situation|wrote|answered|conversation|moved/.test(reason)) return "situation";
  if (/expir|too old/.test(reason)) return "expired";
  if (doc.crossed_once) return "put_back";
  return "other";
}

/** A code that this window has no words for yet keeps its own name. */
export function named(code: string): string {
  return code.replaceAll("_", " ").replace(/^./, (c) => c.toUpperCase());
}

const kindIcons: Record<string, string> = { mailbox: "mail", resend: "send", postmark: "send", mailersend: "send", hubspot: "record", webhook: "bolt" };

export function kindIcon(kind: string): string {
  return kindIcons[kind] ?? "plug";
}

export function effectWord(effect: string): string {
  return w.effect[effect] ?? effect;
}

export function effectIcon(effect: string): string {
  if (effect.startsWith("email.")) return "mail";
  if (effect === "crm.note" || effect === "crm.email.log") return "note";
  if (effect === "crm.task") return "task";
  if (effect.startsWith("webhook")) return "bolt";
  return "record";
}

/** Why an approval waits for somebody's look; a limit that no look takes away says so. */
export function mustCheck(open: readonly { code: string }[]): string {
  const limit = open.find((one) => one.code === "daily_limit");
  if (limit) return w.limitHolds(findingLabel(limit.code));
  return open.length ? w.firstCheck(listed(open.map((one) => findingLabel(one.code)))) : "";
}

export function findingLabel(code: string): string {
  return w.finding[code] ?? named(code);
}
