// What stands in the way of everything: the one banner over the work, and what is said aloud when it comes and goes.

import type { Overview } from "../bindings/Overview";
import { w } from "../words";
import { localTimes } from "./time";

export type Trouble = {
  kind: "frozen" | "store" | "locked" | "off" | "other" | "destination";
  /** Which one of its kind: another one is told anew. */
  which: string;
  family: "plum" | "brick" | "ink";
  icon: string;
  head: string;
  says: string;
};

/** The gravest first; one banner at a time. */
export function troubleOf(overview: Overview | null, now: number): Trouble | null {
  if (!overview?.home_exists) return null;
  const make = (kind: Trouble["kind"], which: string, family: Trouble["family"], icon: string, head: string, says: string): Trouble => ({ kind, which, family, icon, head, says });
  if (overview.frozen) return make("frozen", overview.frozen, "brick", "ledger", w.frozenHead[overview.frozen] ?? w.frozenElse, overview.frozen_text ?? w.frozenSays[overview.frozen] ?? w.frozenSaysElse);
  if (overview.no_keychain) return make("store", "", "plum", "key", w.noKeychain, `${w.noKeychainSays} ${overview.no_keychain}`);
  if (overview.locked) return make("locked", "", "plum", "lock", w.keyLocked, w.keyLockedSays);
  if (!overview.sending && overview.environment !== "sandbox") return make("off", "", "ink", "pause", w.sendingOff, w.sendingOffSays);
  if (overview.another_dispatcher) return make("other", "", "ink", "laptop", w.anotherDispatcher, w.anotherDispatcherSays);
  const bad = overview.destinations.find((one) => one.health === "paused" || one.health === "signed_out");
  if (!bad) return null;
  const away = bad.health === "paused";
  return make("destination", `${bad.health} ${bad.name}`, "plum", away ? "unplug" : "key", away ? w.unreachable(bad.name) : w.signedOut(bad.name), localTimes(bad.health_text, now) || (away ? w.unreachableSays : w.signedOutSays));
}

/** What is said when it changes: that it is over, what came instead; empty when nothing is to be said. */
export function saidTrouble(before: Trouble | null, after: Trouble | null): string {
  if (before?.kind === after?.kind && before?.which === after?.which) return "";
  const over = { frozen: w.lifted, store: "", locked: w.saidUnlocked, off: w.saidSendingOn, other: w.saidSendsHere, destination: w.saidReachable };
  // A graver trouble only hides the one before it, which is not over.
  const order = ["frozen", "store", "locked", "off", "other", "destination"];
  const gone = before && (!after || order.indexOf(after.kind) > order.indexOf(before.kind)) ? over[before.kind] : "";
  return [gone, after ? `${after.head} ${after.says}` : ""].filter(Boolean).join(" ");
}
