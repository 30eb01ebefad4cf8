// The script of a text, for fonts and line height only. Latin text gets no guess: a wrong one would be read aloud wrongly.

import { language } from "../words/language.svelte";

export function langOf(text: string): string | undefined {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)) return "ja";
  if (/\p{Script=Arabic}/u.test(text)) return "ar";
  if (/\p{Script=Hebrew}/u.test(text)) return "he";
  if (/\p{Script=Hangul}/u.test(text)) return "ko";
  if (/\p{Script=Han}/u.test(text)) return "zh";
  // Where the window speaks another language than English, the page's own would be a guess too: no language is named.
  return language.tag === "en" ? undefined : "";
}

/**
 * The direction in which a text begins, for a box that may have to cut it: it is cut at its own end. An element with
 * `dir="auto"` cannot tell when its text stands in an isolated one inside.
 */
export function dirOf(text: string): "ltr" | "rtl" | undefined {
  const first = /\p{Letter}/u.exec(text)?.[0];
  if (first === undefined) return undefined;
  return /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(first) ? "rtl" : "ltr";
}
