// When a message is to go, as it stands in a payload: the time on a wall and the zone of that wall (F39). The engine
// decides what it means; here it is shown, asked for, and told where a clock change makes it no time or two.

import { w } from "../words";
import { language } from "../words/language.svelte";

export type SendAt = { local: string; zone: string; offset?: string };

const form = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d))?$/;

export function sendAtOf(value: unknown): SendAt | null {
  const one = value as Partial<SendAt> | null | undefined;
  if (typeof one?.local !== "string" || typeof one.zone !== "string") return null;
  return typeof one.offset === "string" ? { local: one.local, zone: one.zone, offset: one.offset } : { local: one.local, zone: one.zone };
}

/** The wall's clock read as if it stood in UTC, in milliseconds; NaN for what is no time of a calendar. */
export function wall(local: string): number {
  const parts = form.exec(local);
  if (!parts) return Number.NaN;
  const [year, month, day, hour, minute, second] = parts.slice(1).map((part) => Number(part ?? 0)) as [number, number, number, number, number, number];
  const at = new Date(0);
  at.setUTCFullYear(year, month - 1, day);
  at.setUTCHours(hour, minute, second);
  const same = at.getUTCMonth() === month - 1 && at.getUTCDate() === day && at.getUTCHours() === hour && at.getUTCMinutes() === minute && at.getUTCSeconds() === second;
  return same ? at.getTime() : Number.NaN;
}

/** Minutes east of UTC that a zone's clocks show at that moment; null for a zone that is not known. */
function offsetAt(zone: string, at: number): number | null {
  try {
    const told = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" }).formatToParts(at).find((part) => part.type === "timeZoneName")?.value ?? "";
    const parts = /^GMT(?:([+-])(\d\d):(\d\d))?/.exec(told);
    if (!parts) return null;
    return parts[1] ? (parts[1] === "-" ? -1 : 1) * (Number(parts[2]) * 60 + Number(parts[3])) : 0;
  } catch {
    return null;
  }
}

export function signed(minutes: number): string {
  const all = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${String(Math.floor(all / 60)).padStart(2, "0")}:${String(all % 60).padStart(2, "0")}`;
}

export type Meant = { at: number; offset: string };

/** Every moment at which that wall shows that time, the earlier first: one, none in an hour that is skipped, two in one that
    occurs twice. Null where the time or the zone is none. */
export function meanings(when: SendAt): Meant[] | null {
  const shown = wall(when.local);
  if (Number.isNaN(shown)) return null;
  const out = new Map<number, Meant>();
  // Clocks that changed within a day around it have shown one of these two.
  for (const around of [shown - 86_400_000, shown + 86_400_000]) {
    const offset = offsetAt(when.zone, around);
    if (offset === null) return null;
    const at = shown - offset * 60_000;
    if (offsetAt(when.zone, at) === offset) out.set(at, { at, offset: signed(offset) });
  }
  return [...out.values()].sort((a, b) => a.at - b.at);
}

/** The one moment that is meant, once that is certain. */
export function momentOf(when: SendAt): Meant | null {
  const all = meanings(when) ?? [];
  if (all.length === 1) return when.offset === undefined || when.offset === all[0]?.offset ? (all[0] ?? null) : null;
  return all.find((one) => one.offset === when.offset) ?? null;
}

export const EXAMPLE = "2027-03-28 10:30";

/** What is wrong with a time that somebody writes, as a sentence; empty when it is one moment. */
export function problemOf(when: SendAt | null | undefined): string {
  if (!when) return "";
  if (Number.isNaN(wall(when.local))) return w.sendAtBad(EXAMPLE);
  const all = meanings(when);
  if (all === null) return w.sendAtNoZone;
  if (all.length === 0) return w.sendAtGap(when.local.replace("T", " "), when.zone);
  return momentOf(when) ? "" : w.sendAtTwice(when.zone);
}

/** The zone in which this computer shows its times. */
export function ownZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Every zone by name, with those that are needed whether or not the list has them. */
export function zones(...needed: string[]): string[] {
  return [...new Set([...needed.filter(Boolean), ...Intl.supportedValuesOf("timeZone"), "UTC"])].sort();
}

/** What the clock on that wall shows, in the window's language; what was written where it is no time. */
export function wallText(local: string): string {
  const shown = wall(local);
  if (Number.isNaN(shown)) return local;
  return new Intl.DateTimeFormat(language.locale, { timeZone: "UTC", weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(shown);
}

/** Nine in the morning of the day after, on this computer's clocks: a beginning for somebody who sets a time. */
export function tomorrow(now: number): SendAt {
  const at = new Date(now);
  at.setDate(at.getDate() + 1);
  const two = (n: number) => String(n).padStart(2, "0");
  return { local: `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T09:00`, zone: ownZone() };
}
