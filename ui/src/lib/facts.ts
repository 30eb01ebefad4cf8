// Dates, amounts and promises in a draft get a dotted underline, so that the eye lands there. Local rules only, a help
// and no check: the column head says so.

const month = "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?|Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember)";
const weekday = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|(?:Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonntag)";
const day = `(?:${weekday}),?(?: the)?(?: \\d{1,2}(?:st|nd|rd|th|\\.)?(?: ${month})?)?(?:,? (?:between \\d{1,2}(?::\\d\\d)? and \\d{1,2}(?::\\d\\d)?|morning|noon|afternoon|evening|vormittags|nachmittags))?`;
const dated = `\\d{1,2}(?:st|nd|rd|th|\\.)? ${month}(?: \\d{4})?|${month} \\d{1,2}(?:st|nd|rd|th)?(?:, \\d{4})?|\\d{4}-\\d\\d-\\d\\d`;
const clock = "\\d{1,2}:\\d\\d(?: ?[ap]m)?|\\d{1,2} ?[ap]m\\b";
const money = "(?:[€£$¥] ?\\d[\\d.,]*|\\d[\\d.,]* ?(?:€|£|\\$|EUR|USD|GBP|CHF|kr))(?: (?:a|per|each) \\w+)?";
const span = "(?:about |within )?(?:a|one|two|three|four|\\d+) (?:minutes?|hours?|days?|weeks?|months?)";
const promise = "no extra charge|free of charge|guarantee[ds]?|refund(?:ed)?|at no cost|kostenlos";

// A number of three digits and more, with its parts: an order, an invoice, a part. Only worth a look where it is new.
const number = "\\b\\d{3,}(?:[-/.]\\d+)*\\b";

const rule = new RegExp(`(${day}|${dated}|${clock}|${money}|${span}|${promise})|(${number})`, "giu");

/** `fresh`: a number in it does not stand in the customer's message. */
export type Run = { text: string; fact: boolean; fresh: boolean };

/** Digits without what groups them, so that 1.240, 1,240 and 1240 are the same. */
function numbers(text: string): string[] {
  return [...text.matchAll(/\d+(?:[.,'\u2019\u00a0]\d{3})*(?:[.,]\d{1,2})?/gu)].map((m) => m[0].replace(/[.,'\u2019\u00a0](?=\d{3})/gu, "").replace(/[.,]0{1,2}$/, "").replace(",", "."));
}

/** `against`: what the customer wrote, where there is something to compare with. */
export function facts(text: string, against = ""): Run[] {
  const runs: Run[] = [];
  const known = new Set(numbers(against));
  const isFresh = (part: string) => against.trim() !== "" && numbers(part).some((n) => !known.has(n));
  let from = 0;
  for (const match of text.matchAll(rule)) {
    const fresh = isFresh(match[0]);
    // A bare number the customer wrote too is nothing to look at.
    if (match[2] !== undefined && !fresh) continue;
    if (match.index > from) runs.push({ text: text.slice(from, match.index), fact: false, fresh: false });
    runs.push({ text: match[0], fact: true, fresh });
    from = match.index + match[0].length;
  }
  if (from < text.length) runs.push({ text: text.slice(from), fact: false, fresh: false });
  return runs;
}

/** Whether a text speaks of a file that comes with it. */
export function speaksOfFile(text: string): boolean {
  return /\b(attached|attachment|enclosed|enclosure)\b|\b(im Anhang|anbei|beigef\u00fcgt|angeh\u00e4ngt)\b/iu.test(text);
}
