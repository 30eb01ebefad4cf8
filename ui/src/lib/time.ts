// Times come as RFC 3339 in UTC and are shown in the person's zone and region, on a 24-hour clock.

const clockFormat = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const secondFormat = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const weekdayFormat = new Intl.DateTimeFormat(undefined, { weekday: "short" });
const dayFormat = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const longFormat = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const yearFormat = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });

const monthFormat = new Intl.DateTimeFormat(undefined, { month: "short" });
const plainFormat = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "long" });
const longMonthFormat = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric" });

/** Under a bar: "15 Apr". */
export function axisDay(time: string): string {
  return dayFormat.format(new Date(time));
}

/** In a sentence, without the weekday: "15 April". */
export function plainDay(time: string): string {
  return plainFormat.format(new Date(time));
}

export function axisMonth(time: string): string {
  return monthFormat.format(new Date(time));
}

export function monthOf(time: string): string {
  return longMonthFormat.format(new Date(time));
}

export function millis(time: string): number {
  return Date.parse(time);
}

export function clock(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? "" : clockFormat.format(at);
}

export function seconds(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? "" : secondFormat.format(at);
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
  if (days > 0 && days < 7) return weekdayFormat.format(at);
  return at.getFullYear() === new Date(now).getFullYear() ? dayFormat.format(at) : yearFormat.format(at);
}

/** In sentences: the time today, the date and the time otherwise. */
export function moment(time: string, now: number): string {
  const days = daysAgo(time, now);
  return days === 0 ? clock(time) : `${brief(time, now)}, ${clock(time)}`;
}

/** Sentences of the engine carry exact UTC times; a person reads them in their own. */
export function localTimes(text: string, now: number): string {
  return text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (time) => moment(time, now));
}

export function longDay(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? "" : longFormat.format(at);
}
