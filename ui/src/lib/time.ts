// Times come as RFC 3339 in UTC and are shown in the person's zone and region, on a 24-hour clock, in the window's
// language.

import { language } from "../words/language.svelte";

const shapes = {
  clock: { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  second: { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
  weekday: { weekday: "short" },
  day: { day: "numeric", month: "short" },
  long: { weekday: "long", day: "numeric", month: "long" },
  year: { day: "numeric", month: "short", year: "numeric" },
  month: { month: "short" },
  plain: { day: "numeric", month: "long" },
  longMonth: { month: "long", year: "numeric" },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

const kept = new Map<string, Intl.DateTimeFormat>();

function show(shape: keyof typeof shapes, at: Date): string {
  const name = `${language.locale} ${shape}`;
  let one = kept.get(name);
  if (!one) kept.set(name, (one = new Intl.DateTimeFormat(language.locale, shapes[shape])));
  return one.format(at);
}

/** Under a bar: "15 Apr". */
export function axisDay(time: string): string {
  return show("day", new Date(time));
}

/** In a sentence, without the weekday: "15 April". */
export function plainDay(time: string): string {
  return show("plain", new Date(time));
}

export function axisMonth(time: string): string {
  return show("month", new Date(time));
}

export function monthOf(time: string): string {
  return show("longMonth", new Date(time));
}

export function millis(time: string): number {
  return Date.parse(time);
}

export function clock(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? "" : show("clock", at);
}

export function seconds(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? "" : show("second", at);
}

function midnight(at: Date): number {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime();
}

/** Whole days between the local dates: 0 today, 1 yesterday. */
export function daysAgo(time: string, now: number): number {
  return Math.round((midnight(new Date(now)) - midnight(new Date(time))) / 86_400_000);
}

/** In lists: the time today, the weekday within a week, then the date. */
export function brief(time: string, now: number): string {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return "";
  const days = daysAgo(time, now);
  if (days === 0) return clock(time);
  if (days > 0 && days < 7) return show("weekday", at);
  return at.getFullYear() === new Date(now).getFullYear() ? show("day", at) : show("year", at);
}

/** In sentences: the time today, the date and the time otherwise. */
export function moment(time: string, now: number): string {
  const days = daysAgo(time, now);
  return days === 0 ? clock(time) : `${brief(time, now)}${language.catalogue.comma}${clock(time)}`;
}

/** In a text that is read on another day: always the date with the year, and the time. */
export function dated(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? "" : `${show("year", at)}${language.catalogue.comma}${clock(time)}`;
}

/** Sentences of the engine carry exact UTC times; a person reads them in their own. */
export function localTimes(text: string, now: number): string {
  return text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (time) => moment(time, now));
}

export function longDay(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? "" : show("long", at);
}
