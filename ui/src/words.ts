// Every word of the window, read through one object. Short, present tense, "you" and "we" (we is the app); see the design
// reference, section 13. The catalogues are words/en, words/de and words/ar; what is read here follows the language at
// once, because each reading asks for it.

import { sentence } from "./words/format";
import { language } from "./words/language.svelte";
import type { Catalogue } from "./words/shape";
import { told } from "./words/told";
import { days, hours, minutes, share, unit } from "./words/units";

type Told = typeof told;
/** Groups are looked up by codes of the engine, and an unknown code is not there. */
type Group<T> = T extends string ? string : T extends readonly string[] ? readonly string[] : T extends object ? Readonly<Record<string, Group<T[keyof T]>>> : never;
type Said = { readonly [K in keyof Catalogue]: K extends keyof Told ? (...given: Parameters<Told[K]>) => string : Group<Catalogue[K]> };

/** Lengths and shares: words that Intl has. */
const counted = {
  secondsLong: (n: number) => (n === 0 ? language.catalogue.noHold : unit(n, "second")),
  hoursLong: hours,
  daysLong: days,
  lockAfter: (n: number) => (n === 0 ? language.catalogue.never : minutes(n)),
  percent: (n: number, of: number) => share(n / of),
};

const makers = Object.entries(told).map(([name, tell]) => [
  name,
  (...given: never[]) => sentence(language.catalogue[name as keyof Told] as string, (tell as (...given: never[]) => Record<string, string | number>)(...given)),
]);
const functions: Readonly<Record<string, unknown>> = { ...(Object.fromEntries(makers) as object), ...counted };

export const w = new Proxy({} as Said & typeof counted, {
  get: (_, name) => functions[name as string] ?? (language.catalogue as Readonly<Record<string | symbol, unknown>>)[name],
});
