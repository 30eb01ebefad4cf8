import { TYPE, parse, type MessageFormatElement } from "@formatjs/icu-messageformat-parser";
import { describe, expect, it } from "vitest";
import { dated } from "../src/lib/time";
import { w } from "../src/words";
import { isolated, selectors, unturned } from "../src/words/format";
import { ar } from "../src/words/ar";
import { de } from "../src/words/de";
import { en } from "../src/words/en";
import { charts } from "../src/words/en/charts";
import { keys } from "../src/words/en/keys";
import { review } from "../src/words/en/review";
import { setup } from "../src/words/en/setup";
import { views } from "../src/words/en/views";
import { writing } from "../src/words/en/writing";
import type { Catalogue } from "../src/words/shape";
import { localeOf, tagOf } from "../src/words/language.svelte";
import { told } from "../src/words/told";

type Leaf = { at: string; text: string };

function leaves(value: unknown, at = ""): Leaf[] {
  if (typeof value === "string") return [{ at, text: value }];
  return Object.entries(value as object).flatMap(([name, one]) => leaves(one, at ? `${at}.${name}` : name));
}

type Used = { content: Set<string>; selects: Set<string>; plurals: { name: string; options: string[]; counts: boolean }[] };

function used(elements: readonly MessageFormatElement[], out: Used = { content: new Set(), selects: new Set(), plurals: [] }): Used {
  for (const one of elements) {
    if (one.type === TYPE.argument || one.type === TYPE.number || one.type === TYPE.date || one.type === TYPE.time) out.content.add(one.value);
    if (one.type === TYPE.select) out.selects.add(one.value);
    if (one.type === TYPE.plural) out.plurals.push({ name: one.value, options: Object.keys(one.options), counts: Object.values(one.options).some((branch) => branch.value.some((x) => x.type === TYPE.pound)) });
    if (one.type === TYPE.select || one.type === TYPE.plural) for (const branch of Object.values(one.options)) used(branch.value, out);
  }
  return out;
}
const read = (text: string) => used(parse(text, { ignoreTag: true }));

const languages: Record<string, Catalogue> = { en, de, ar };

describe("every language", () => {
  it("r37_no_name_is_used_twice_in_the_parts_of_a_catalogue", () => {
    const names = [charts, keys, review, setup, views, writing].flatMap((part) => Object.keys(part));
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });

  it("r37_each_language_has_every_entry_and_none_besides_with_the_same_gaps", () => {
    const source = leaves(en);
    for (const [tag, catalogue] of Object.entries(languages)) {
      const theirs = new Map(leaves(catalogue).map((one) => [one.at, one.text]));
      expect([...theirs.keys()].sort(), tag).toEqual(source.map((one) => one.at).sort());
      for (const { at, text } of source) {
        const [mine, other] = [read(text), read(theirs.get(at) ?? "")];
        // What is said is the same; what only chooses a branch may be needed in one language and not in another.
        const gaps = (one: Used) => [...new Set([...one.content, ...one.plurals.filter((p) => p.counts).map((p) => p.name)])].sort();
        expect(gaps(other), `${tag}: ${at}`).toEqual(gaps(mine));
        for (const name of other.selects) expect(selectors.has(name), `${tag}: ${at}: ${name}`).toBe(true);
        for (const name of other.content) expect(selectors.has(name), `${tag}: ${at}: ${name} chooses a branch and cannot be said`).toBe(false);
      }
    }
  });

  it("r37_every_gap_and_every_branch_is_told_what_it_needs", () => {
    for (const [name, tell] of Object.entries(told)) {
      const given = Object.keys((tell as (...all: unknown[]) => object)(...Array.from({ length: tell.length }, () => 2)));
      for (const [tag, catalogue] of Object.entries(languages)) {
        const { content, selects, plurals } = read((catalogue as Record<string, unknown>)[name] as string);
        for (const gap of [...content, ...selects, ...plurals.map((p) => p.name)]) expect(given, `${tag}: ${name}`).toContain(gap);
      }
    }
  });

  it("r37_what_is_counted_has_each_plural_the_language_knows", () => {
    for (const [tag, catalogue] of Object.entries(languages)) {
      const wanted = new Intl.PluralRules(tag).resolvedOptions().pluralCategories.filter((one) => one !== "zero" && one !== "other");
      for (const { at, text } of leaves(catalogue))
        for (const { name, options, counts } of read(text).plurals) {
          const categories = options.filter((one) => !one.startsWith("="));
          // Where only exact numbers and the rest are told apart, no word changes with the number.
          if (categories.length > 1 || (tag === "ar" && counts)) for (const one of wanted) expect(options.includes(one) || options.includes(one === "one" ? "=1" : one === "two" ? "=2" : one), `${tag}: ${at}: ${name} lacks ${one}`).toBe(true);
        }
    }
  });
});

describe("the English catalogue", () => {
  it("r37_every_message_parses_and_only_sentences_with_gaps_have_gaps", () => {
    for (const { at, text } of leaves(en)) {
      const { content, selects, plurals } = read(text);
      const names = new Set([...content, ...selects, ...plurals.map((p) => p.name)]);
      if (!(at in told)) expect([...names], at).toEqual([]);
      for (const name of selects) expect(selectors.has(name), `${at}: ${name}`).toBe(true);
      for (const name of content) expect(selectors.has(name), `${at}: ${name} chooses a branch and cannot be said`).toBe(false);
    }
    for (const name of Object.keys(told)) expect(name in en, name).toBe(true);
  });

  it("r37_numbers_and_branches_read_as_they_should", () => {
    expect(w.versionLine(2, 0)).toBe("Version 2");
    expect(w.versionLine(2, 1)).toBe("Version 2 · 1 change");
    expect(w.versionLine(2, 1234)).toBe("Version 2 · 1,234 changes");
    expect(w.askedTimes(3, "09:53", "09:55")).toBe("We looked 3 times, first at 09:53, last at 09:55. Not there so far.");
    expect(w.settledOf(0, 1)).toBe("Not settled yet.");
    expect(w.settledOf(1, 3)).toBe("1 of 3 settled.");
    expect(w.workspaceName("sandbox")).toBe("Sandbox");
    expect(w.workspaceName("Brackenhall")).toBe("Brackenhall");
    expect(w.approvalVoidHead(w.you)).toBe("Your approval no longer counts.");
    expect(w.approvalVoidHead("Sam")).toBe("Sam’s approval no longer counts.");
    expect([w.secondsLong(0), w.secondsLong(1), w.secondsLong(10), w.hoursLong(24), w.hoursLong(72), w.hoursLong(8), w.daysLong(365), w.lockAfter(0), w.lockAfter(60), w.lockAfter(5)]).toEqual(["No hold", "1 second", "10 seconds", "1 day", "3 days", "8 hours", "1 year", "Never", "1 hour", "5 minutes"]);
    expect(w.binSays("Monday", 4, 0, 2)).toBe("Monday: 4 accepted, 2 unknown");
    expect(w.purgeDone(1, 2)).toBe("Taken away: the texts of 1 action and 2 files.");
    expect(w.took(420)).toBe("0.4 s");
  });
});

describe("the language", () => {
  it("r37_the_first_language_of_the_system_that_is_spoken_here_is_taken", () => {
    expect(tagOf(["fr-FR", "en-GB"])).toBe("en");
    expect(tagOf([])).toBe("en");
    expect(localeOf("en", ["en-GB"])).toBe("en-GB");
    expect(localeOf("en", ["de-DE"])).toBe("en-DE");
    expect(localeOf("en", ["not a locale"])).toBe("en");
  });

  it("r37_every_check_of_a_message_has_a_name_in_every_language", () => {
    for (const code of ["sent_later", "automatic_message", "daily_limit", "calendar_method_differs", "calendar_unreadable", "invitation"]) for (const one of [en, de, ar]) expect(one.finding, code).toHaveProperty(code);
    // What has not gone yet is not said with a word that also means it has.
    expect([en.finding, de.finding].map((all) => (all as Record<string, string>)["sent_later"])).toEqual(["Goes later", "Geht später"]);
    expect([de.gaveUp, de.asSent].filter((text) => /Aufgegeben|gesendet$/.test(text))).toEqual([]);
    expect(de.gaveUp).toMatch(/nicht gesendet/i);
  });

  it("r28_a_line_for_a_customer_carries_no_mark_of_this_window_and_the_whole_date", () => {
    expect(unturned(`At ${isolated("ליום", "ltr")}\u200f.`)).toBe("At ליום.");
    expect(dated("2026-01-05T10:00:00Z")).toMatch(/Jan.*2026, \d\d:\d\d$/);
  });

  it("f28_a_value_cannot_turn_the_words_around_it", () => {
    expect(isolated("Petra", "ltr")).toBe("Petra");
    expect(isolated("ليلى", "ltr")).toBe("\u2068ليلى\u2069");
    expect(isolated("Petra \u202egnihton\u2069", "ltr")).toBe("Petra gnihton");
    expect(isolated("Petra", "rtl")).toBe("\u2068Petra\u2069");
    expect(isolated("ليلى", "rtl")).toBe("ليلى");
    expect(isolated("09:41", "rtl")).toBe("\u206809:41\u2069");
  });
});
