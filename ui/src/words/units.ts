// Numbers and lengths of time by Intl, in the window's language.

import { language } from "./language.svelte";

const kept = new Map<string, Intl.NumberFormat>();

function format(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const name = `${language.locale}\n${JSON.stringify(options)}`;
  let one = kept.get(name);
  if (!one) kept.set(name, (one = new Intl.NumberFormat(language.locale, options)));
  return one;
}

export function number(n: number, most = 0): string {
  return format({ maximumFractionDigits: most }).format(n);
}

/** A share of 1, without decimals. */
export function share(of: number): string {
  return format({ style: "percent", maximumFractionDigits: 0 }).format(of);
}

export type Unit = "second" | "minute" | "hour" | "day" | "year";

/** "5 minutes": the plural is the language's own. */
export function unit(n: number, of: Unit): string {
  return format({ style: "unit", unit: of, unitDisplay: "long", maximumFractionDigits: 0 }).format(n);
}

/** How long something took or takes, in the unit that a person would say. */
export function lasts(seconds: number): string {
  if (seconds < 60) return unit(seconds, "second");
  if (seconds < 5400) return unit(Math.max(1, Math.round(seconds / 60)), "minute");
  return seconds < 172_800 ? unit(Math.round(seconds / 3600), "hour") : unit(Math.round(seconds / 86_400), "day");
}

export function hours(n: number): string {
  return n % 24 === 0 ? unit(n / 24, "day") : unit(n, "hour");
}

export function days(n: number): string {
  return n % 365 === 0 ? unit(n / 365, "year") : unit(n, "day");
}

export function minutes(n: number): string {
  return n % 60 === 0 ? unit(n / 60, "hour") : unit(n, "minute");
}
