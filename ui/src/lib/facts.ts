// Dates, amounts and promises in a draft get a dotted underline, so that the eye lands there. Local rules only, a help
// and no check: the column head says so.

const months = ["Jan(?:uary|uar)?", "Feb(?:ruary|ruar)?", "Mar(?:ch)?|März", "Apr(?:il)?", "May|Mai", "June?|Juni", "July?|Juli", "Aug(?:ust)?", "Sep(?:t(?:ember)?)?", "Oct(?:ober)?|Oktober", "Nov(?:ember)?", "Dec(?:ember)?|Dezember"];
const weekdays = ["Monday|Montag", "Tuesday|Dienstag", "Wednesday|Mittwoch", "Thursday|Donnerstag", "Friday|Freitag", "Saturday|Samstag|Sonnabend", "Sunday|Sonntag"];
const month = `(?:${months.join("|")})`;
const weekday = `(?:${weekdays.join("|")})`;
const day = `(?:${weekday}),?(?: the| den)?(?: \\d{1,2}(?:st|nd|rd|th|\\.)?(?: ${month})?)?(?:,? (?:between \\d{1,2}(?::\\d\\d)? and \\d{1,2}(?::\\d\\d)?|morning|noon|afternoon|evening|vormittags?|nachmittags?))?`;
const dated = `\\d{1,2}(?:st|nd|rd|th|\\.)? ${month}\\b(?: \\d{4})?|${month} \\d{1,2}(?:st|nd|rd|th)?\\b(?:, \\d{4})?|\\d{4}-\\d\\d-\\d\\d|\\b\\d{1,2}\\.\\d{1,2}\\.(?:\\d{4}|\\d\\d\\b)?|\\b\\d{1,2}/\\d{1,2}(?:/\\d{4}|/\\d\\d)?\\b`;
const clock = "\\d{1,2}:\\d\\d(?: ?[ap]m| Uhr)?|\\d{1,2} ?[ap]m\\b|\\d{1,2} Uhr";
const money = "(?:[€£$¥] ?\\d[\\d.,]*|\\d[\\d.,]* ?(?:€|£|\\$|¥|(?:EUR|Euro?|USD|GBP|CHF|SEK|NOK|DKK|PLN|JPY|kr|zł)\\b))(?: (?:a|per|each|pro|je) \\w+)?|\\d+(?:[.,]\\d+)? ?(?:%|percent|Prozent)";
const span = "(?:about |within |in )?(?:an?|one|two|three|four|five|six|einen?|eine[rm]?|zwei|drei|vier|fünf|sechs|\\d+)(?: (?:working|business))? (?:minutes?|hours?|days?|weeks?|months?|years?|Minuten?|Stunden?|Tage?n?|Werktage?n?|Wochen?|Monate?n?|Jahre?n?)\\b";
const promise = "no extra charge|free of charge|guarantee[ds]?|warranty|refund(?:ed)?|at no cost|kostenlos|kostenfrei|Garantie|ohne Aufpreis";

// A number of three digits and more, with its parts (an order, an invoice, a part), or a count of things. Only worth a look
// where it is new.
const number = "\\b\\d{3,}(?:[-/.]\\d+)*\\b|(?<![\\d.,:/-])\\d{1,2}(?= \\p{L}{3,})";

const rule = new RegExp(`(${day}|${dated}|${clock}|${money}|${span}|${promise})|(${number})`, "giu");
const dates = new RegExp(`${day}|${dated}`, "giu");

/** `fresh`: something in it stands otherwise, or not at all, in the customer's message. */
export type Run = { text: string; fact: boolean; fresh: boolean };

type Claims = { numbers: Set<string>; months: Set<number>; weekdays: Set<number>; years: Set<string> };

const whole = (names: string[], text: string): number => names.findIndex((name) => new RegExp(`^(?:${name})$`, "iu").test(text)) + 1;

/** What a text says in numbers: 1.240, 1,240 and 1240 are the same, and so are 16 May, 16.05. and 2026-05-16. */
function claims(text: string): Claims {
  const out: Claims = { numbers: new Set(), months: new Set(), weekdays: new Set(), years: new Set() };
  const add = (n: string) => out.numbers.add(n.replace(/^0+(?=\d)/, ""));
  const left = text.replace(dates, (found) => {
    for (const word of found.match(/\p{L}+/gu) ?? []) {
      const [m, d] = [whole(months, word), whole(weekdays, word)];
      if (m) out.months.add(m);
      if (d) out.weekdays.add(d);
    }
    const parts = /^(\d{1,2})([./])(\d{1,2})(?:[./](\d+)?)?$/.exec(found);
    const iso = /^(\d{4})-(\d\d)-(\d\d)$/.exec(found);
    if (iso) {
      out.years.add(iso[1] as string);
      out.months.add(Number(iso[2]));
      add(iso[3] as string);
    } else if (parts) {
      const [a, b] = [Number(parts[1]), Number(parts[3])];
      // 5/16 is read as its second number can be no month; 5/6 may be either day.
      const dayFirst = parts[2] === "." || a > 12;
      if (dayFirst || b > 12) {
        add(String(dayFirst ? a : b));
        out.months.add(dayFirst ? b : a);
      } else for (const n of [a, b]) add(String(n));
      if (parts[4]) out.years.add(parts[4].length === 2 ? `20${parts[4]}` : parts[4]);
    } else
      for (const [n] of found.matchAll(/\d+/g)) {
        if (n.length === 4) out.years.add(n);
        else add(n);
      }
    return " ";
  });
  for (const match of left.matchAll(/\d+(?:[.,'\u2019\u00a0]\d{3})*(?:[.,]\d{1,2})?/gu)) add(match[0].replace(/[.,'\u2019\u00a0](?=\d{3})/gu, "").replace(/[.,]0{1,2}$/, "").replace(",", "."));
  return out;
}

/** A month, weekday or year differs only from another one; a number that is not there at all is new. */
function differs(ours: Claims, theirs: Claims): boolean {
  const other = <T>(mine: Set<T>, known: Set<T>) => known.size > 0 && [...mine].some((one) => !known.has(one));
  return [...ours.numbers].some((n) => !theirs.numbers.has(n) && !theirs.years.has(n)) || other(ours.months, theirs.months) || other(ours.weekdays, theirs.weekdays) || other(ours.years, theirs.years);
}

let last: { text: string; claims: Claims } = { text: "", claims: claims("") };

/** `against`: what the customer wrote, where there is something to compare with. */
export function facts(text: string, against = ""): Run[] {
  const runs: Run[] = [];
  if (last.text !== against) last = { text: against, claims: claims(against) };
  const theirs = last.claims;
  const isFresh = (part: string) => against.trim() !== "" && differs(claims(part), theirs);
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

const wholeDate = new RegExp(`^(?:${day}|${dated})$`, "iu");
const wholeSum = new RegExp(`^(?:${money})$`, "iu");
/** Whether the whole of a text is a day as it is written in a letter. */
export function isDate(text: string): boolean {
  return wholeDate.test(text);
}
export function isSum(text: string): boolean {
  return wholeSum.test(text);
}

/** What the customer wrote, as far as a draft can be compared with it. */
export function theirWords(conversation: { subject?: string | null; text?: string | null; html?: string | null } | null | undefined): string {
  if (!conversation) return "";
  const words = conversation.text ?? (conversation.html ?? "").replace(/<[^>]*>/g, " ").replace(/&nbsp;/g, " ").replace(/&euro;/g, "€").replace(/&amp;/g, "&");
  return `${conversation.subject ?? ""}\n${words}`;
}

/** Whether a text speaks of a file that comes with it. */
export function speaksOfFile(text: string): boolean {
  return /\b(attached|attachment|enclosed|enclosure)\b|\b(im Anhang|anbei|beigef\u00fcgt|angeh\u00e4ngt)\b/iu.test(text);
}
