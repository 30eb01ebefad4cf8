// The language of the window: the system's or one that the person chose. Words, dates, numbers and the direction follow
// it at once.

import { en } from "./en";
import type { Catalogue } from "./shape";

export const tags = ["en", "de", "ar"] as const;
export type Tag = (typeof tags)[number];
export type Choice = "system" | Tag;

/** Each language by its own name: whoever can read it finds it. */
export const ownName: Record<Tag, string> = { en: "English", de: "Deutsch", ar: "العربية" };

// Only the language that is read is loaded.
const load: Record<Tag, () => Promise<Catalogue>> = {
  en: () => Promise.resolve(en),
  de: () => import("./de").then((m) => m.de),
  ar: () => import("./ar").then((m) => m.ar),
};

const preferred = (): readonly string[] => globalThis.navigator?.languages ?? [];
const base = (name: string) => name.toLowerCase().split("-")[0] ?? "";

/** The first of the system's languages that this window speaks; English where it speaks none. */
export function tagOf(names: readonly string[]): Tag {
  for (const name of names) {
    const tag = tags.find((one) => one === base(name));
    if (tag) return tag;
  }
  return "en";
}

/**
 * The language with the region that the system is set to: dates and figures are the region's. In Arabic the digits are
 * those of order numbers, addresses and fingerprints, so that figures can be compared without converting them.
 */
export function localeOf(tag: Tag, names: readonly string[]): string {
    const digits = tag === "ar" ? "-u-nu-latn" : "";
  const same = names.find((name) => base(name) === tag) ?? names[0];
  let region: string | undefined;
  try {
    region = same ? new Intl.Locale(same).region : undefined;
  } catch {
    // A name the platform made up; the language alone is enough.
  }
  return `${tag}${region ? `-${region}` : ""}${digits}`;
}

export function isChoice(value: string | null): value is Choice {
  return value === "system" || tags.some((tag) => tag === value);
}

class Language {
  choice = $state<Choice>("system");
  tag = $state.raw<Tag>("en");
  catalogue = $state.raw<Catalogue>(en);
  locale = $state.raw(localeOf("en", preferred()));
  #turn = 0;

  get direction(): "ltr" | "rtl" {
    return this.tag === "ar" ? "rtl" : "ltr";
  }

  /** Text that only exists in English is marked, so that it is read aloud rightly; nothing where English is read anyway. */
  get english(): "en" | undefined {
    return this.tag === "en" ? undefined : "en";
  }

  async choose(choice: Choice): Promise<void> {
    this.choice = choice;
    const mine = ++this.#turn;
    const names = preferred();
    const tag = choice === "system" ? tagOf(names) : choice;
    const catalogue = await load[tag]();
    // A quicker second choice has won.
    if (mine !== this.#turn) return;
    this.tag = tag;
    this.catalogue = catalogue;
    this.locale = localeOf(tag, names);
    const page = globalThis.document?.documentElement;
    if (page) {
      page.lang = tag;
      page.dir = this.direction;
    }
  }
}

export const language = new Language();
