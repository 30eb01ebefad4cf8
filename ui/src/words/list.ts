// Words beside words.

import { language } from "./language.svelte";

/** A plain row of names: no "and", because it may be cut. */
export function listed(items: readonly string[]): string {
  return items.join(language.catalogue.comma);
}

/** A label in the middle of a line. English writes it small there; German nouns and Arabic do not change. */
export function inside(label: string): string {
  return language.tag === "en" ? label.toLowerCase() : label;
}
