// From a message of the catalogue and its values to the sentence a person reads.

import { IntlMessageFormat } from "intl-messageformat";
import { language } from "./language.svelte";

export type Values = Readonly<Record<string, string | number>>;

const made = new Map<string, Map<string, IntlMessageFormat>>();

function parsed(message: string, locale: string): IntlMessageFormat {
  let all = made.get(locale);
  if (!all) made.set(locale, (all = new Map<string, IntlMessageFormat>()));
  let one = all.get(message);
  // No tags: the catalogue holds text, and a `<` in it is one.
  if (!one) all.set(message, (one = new IntlMessageFormat(message, locale, undefined, { ignoreTag: true })));
  return one;
}

/** They choose a branch of a message and never stand in it. */
export const selectors: ReadonlySet<string> = new Set(["which", "how", "has", "whose"]);

const controls = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const rightToLeft = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

/**
 * A name or an address inside a sentence keeps its own direction and cannot turn the words around it: one that runs the
 * other way is isolated, and characters that would turn what follows are left out. They are shown where the text itself
 * is shown, not in a sentence about it.
 */
export function isolated(value: string, direction: "ltr" | "rtl"): string {
  const clean = value.replace(controls, "");
  const turns = direction === "rtl" ? /\p{Letter}/u.test(clean.replace(new RegExp(rightToLeft.source, "gu"), "")) || /\d[^\s\d]/u.test(clean) : rightToLeft.test(clean);
  return turns ? `\u2068${clean}\u2069` : clean;
}

/** A sentence that goes into somebody's text: what only this window needs to set it is no part of it. */
export function unturned(text: string): string {
  return text.replace(controls, "");
}

export function sentence(message: string, values: Values): string {
  const { locale, direction } = language;
  const safe: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(values)) safe[name] = typeof value === "string" && !selectors.has(name) ? isolated(value, direction) : value;
  return String(parsed(message, locale).format(safe));
}
