// What a person decides, once, for every screen that offers it. Each sends exactly what is on screen.

import { type Verdict, errorOf } from "../backend";
import type { ActionDoc } from "../bindings/ActionDoc";
import type { FindingDoc } from "../bindings/FindingDoc";
import { copyText } from "../lib/clipboard";
import { whoOf } from "../lib/news";
import { emailOf, isEmail } from "../lib/payload";
import { headline } from "../lib/record";
import { findingLabel, isHeld, mustCheck } from "../lib/standing";
import { w } from "../words";
import { app } from "./app.svelte";

export { whoOf };

/** "Marta": sentences about a person use the first name where there is one. */
export function firstNameOf(doc: ActionDoc): string {
  const name = whoOf(doc);
  return name.includes(",") || name.split(" ").length > 3 ? name : (name.split(" ")[0] ?? name);
}

/** Sends the whole fingerprint that was on screen. Null when nothing came of it, with the reason beside the bar. */
export async function approve(doc: ActionDoc, hash: string): Promise<ActionDoc | null> {
  app.barMessage = "";
  app.busy = true;
  try {
    const after = await app.engine.approve(doc.id, hash);
    app.keepHeld(after);
    app.announceHold(after);
    return after;
  } catch (thrown) {
    const error = errorOf(thrown);
    if (error.code === "locked") {
      app.unlocking = true;
      app.tellBar(w.lockedBar);
    } else if (error.code === "conflict") {
      const now = await app.engine.action(doc.id).catch(() => null);
      app.tellBar(now && now.payload_version !== doc.payload_version ? w.draftMoved(now.payload_version) : error.message);
    } else if (error.code === "not_permitted" && error.field?.includes(":")) {
      // The mailbox showed something just now; the check is on screen with the next reading.
      app.tellBar(w.firstCheck(findingLabel(error.field.split(":")[0] ?? "")));
    } else app.tellBar(error.message);
    return null;
  } finally {
    app.busy = false;
  }
}

/** Several at once, each with the fingerprint that was on screen. Answers with those that were approved. */
export async function approveEach(docs: ActionDoc[]): Promise<ActionDoc[]> {
  app.barMessage = "";
  app.busy = true;
  try {
    const done = await app.engine.approveEach(docs.map((doc) => ({ id: doc.id, payload_hash: doc.payload_hash, looked: [] })));
    const given = done.flatMap((one) => (one.action ? [one.action] : []));
    for (const after of given) app.keepHeld(after);
    const last = given.at(-1);
    if (last) app.announceHold(last);
    const refused = done.find((one) => one.error);
    if (refused?.error) {
      if (refused.error.code === "locked") app.unlocking = true;
      app.tellBar(refused.error.code === "locked" ? w.lockedBar : w.someNotApproved(given.length, docs.length, refused.error.message));
    }
    return given;
  } catch (thrown) {
    app.tellBar(errorOf(thrown).message);
    return [];
  } finally {
    app.busy = false;
  }
}

/** What a request or an action is called in heads: the customer's subject, else the message's own, else what it does. */
export function subjectOf(doc: ActionDoc): string {
  return doc.conversation?.subject ?? (isEmail(doc.effect) ? emailOf(doc.payload).subject : headline(doc.effect, doc.payload));
}

/** Undo while held, or put back what waits. */
export async function undo(doc: ActionDoc): Promise<ActionDoc | null> {
  try {
    const after = await app.engine.undo(doc.id);
    app.keepHeld(after);
    app.notify({ icon: "undo", family: "grey", text: w.putBackDone }, 4000);
    app.say(w.putBackDone);
    return after;
  } catch (thrown) {
    const error = errorOf(thrown);
    const text = error.code === "conflict" ? w.undoTooLate : error.message;
    app.notify({ icon: "s-progress", family: "teal", text }, 9000);
    app.say(text);
    return null;
  }
}

/** What Z takes back: what is on screen if it can be, else the last approval that is still held. */
export function undoable(shown: ActionDoc | null): ActionDoc | null {
  if (shown?.state === "approved") return shown;
  return app.held[app.held.length - 1] ?? null;
}

export function clearFinding(doc: ActionDoc, finding: FindingDoc): Promise<ActionDoc | null> {
  return app.run(() => app.engine.clearFinding(doc.id, finding.code, finding.field));
}

export function reject(doc: ActionDoc, reason: string): Promise<ActionDoc | null> {
  return app.run(() => app.engine.reject(doc.id, reason));
}

export function settle(doc: ActionDoc, verdict: Verdict, evidence: string): Promise<ActionDoc | null> {
  return app.run(() => app.engine.resolve(doc.id, verdict, evidence));
}

export async function revise(doc: ActionDoc): Promise<void> {
  const fresh = await app.run(() => app.engine.revise(doc.id));
  if (fresh) {
    app.go("revise", fresh.id);
    void app.focusHeading();
  }
}

export async function copyFingerprint(hash: string): Promise<void> {
  if (!hash) return app.say(w.noFingerprint);
  if (!(await copyText(hash))) return;
  app.notify({ icon: "copy", family: "grey", text: w.copied }, 3000);
  app.say(w.copied);
}

/** Why an approval can't be given now, as a sentence; empty when it can. */
export function blockedBy(doc: ActionDoc, open: readonly FindingDoc[]): string {
  if (doc.state !== "prepared" && !(doc.state === "needs_review" && doc.crossed_once) && !["refused", "gave_up"].includes(doc.state)) return w.nothingToApprove;
  return mustCheck(open);
}

export function held(doc: ActionDoc): boolean {
  return isHeld(doc, app.tick);
}
