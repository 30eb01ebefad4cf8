// Characters that a person cannot see but that change what a text means: controls, format characters (bidi overrides,
// zero-width) and look-alike spaces. They are shown as chips and never removed: what is shown is what is sent (F28).

export type Piece = { text: string; unseen?: undefined } | { unseen: string; code: string; text?: undefined };

const names: Record<number, string> = {
  0x00: "NUL",
  0x08: "BS",
  0x0b: "VT",
  0x0c: "FF",
  0x0d: "CR",
  0x1b: "ESC",
  0x7f: "DEL",
  0xa0: "NBSP",
  0xad: "SHY",
  0x034f: "CGJ",
  0x061c: "ALM",
  0x115f: "HF",
  0x1160: "HF",
  0x17b4: "KIV",
  0x17b5: "KIV",
  0x180e: "MVS",
  0x200b: "ZWSP",
  0x200c: "ZWNJ",
  0x200d: "ZWJ",
  0x200e: "LRM",
  0x200f: "RLM",
  0x2028: "LSEP",
  0x2029: "PSEP",
  0x202a: "LRE",
  0x202b: "RLE",
  0x202c: "PDF",
  0x202d: "LRO",
  0x202e: "RLO",
  0x2060: "WJ",
  0x2066: "LRI",
  0x2067: "RLI",
  0x2068: "FSI",
  0x2069: "PDI",
  0x3164: "HF",
  0xfeff: "BOM",
  0xffa0: "HF",
};

// Cc and Cf, the line separators, and letters that draw nothing.
const unseen = /[\p{Cc}\p{Cf}\u2028\u2029\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]/u;

/**
 * Splits a text into visible runs and chips. In a body, line ends and tabs stay; in a name, subject or file name they
 * are chips too. A joiner inside an emoji or a non-joiner between letters of a script that needs it is ordinary text.
 */
export function pieces(text: string, body = false): Piece[] {
  if (!unseen.test(text)) return text ? [{ text }] : [];
  const out: Piece[] = [];
  let run = "";
  const all = Array.from(text);
  all.forEach((char, i) => {
    const code = char.codePointAt(0) as number;
    const ordinary = !unseen.test(char) || (body && (code === 10 || code === 13 || code === 9)) || joins(all, i, code);
    if (ordinary) {
      run += char;
      return;
    }
    if (run) out.push({ text: run });
    run = "";
    const hex = code.toString(16).toUpperCase().padStart(4, "0");
    out.push({ unseen: names[code] ?? `U+${hex}`, code: `U+${hex}` });
  });
  if (run) out.push({ text: run });
  return out;
}

function joins(all: string[], i: number, code: number): boolean {
  const before = all[i - 1] ?? "";
  const after = all[i + 1] ?? "";
  if (code === 0x200d) {
    const emoji = /\p{Extended_Pictographic}|\u{fe0f}|[\u{1f3fb}-\u{1f3ff}]/u;
    return (emoji.test(before) && emoji.test(after)) || (needsJoiners(before) && needsJoiners(after));
  }
  return code === 0x200c && needsJoiners(before) && needsJoiners(after);
}

function needsJoiners(char: string): boolean {
  return /\p{Script=Arabic}|\p{Script=Devanagari}|\p{Script=Bengali}|\p{Script=Malayalam}|\p{Script=Sinhala}|\p{Script=Tamil}|\p{Script=Telugu}|\p{Script=Kannada}/u.test(
    char,
  );
}
