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

const rule = new RegExp(`(${day}|${dated}|${clock}|${money}|${span}|${promise})`, "giu");

export type Run = { text: string; fact: boolean };

export function facts(text: string): Run[] {
  const runs: Run[] = [];
  let from = 0;
  for (const match of text.matchAll(rule)) {
    if (match.index > from) runs.push({ text: text.slice(from, match.index), fact: false });
    runs.push({ text: match[0], fact: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) runs.push({ text: text.slice(from), fact: false });
  return runs;
}
