// One strict split for everything the window shows: at the last @ outside quotes (F29).

export type Parts = { local: string; domain: string };

export function partsOf(email: string): Parts {
  let quoted = false;
  let at = -1;
  for (let i = 0; i < email.length; i++) {
    const char = email[i];
    if (char === "\\" && quoted) i++;
    else if (char === '"') quoted = !quoted;
    else if (char === "@" && !quoted) at = i;
  }
  if (at < 0) return { local: email, domain: "" };
  return { local: email.slice(0, at + 1), domain: email.slice(at + 1) };
}

/** Whether a typed text can be an address at all. The engine decides; this only keeps obvious slips from being added. */
export function plausible(email: string): boolean {
  const { local, domain } = partsOf(email.trim());
  return local.length > 1 && /^[^\s@<>,;"]+\.[^\s@<>,;".]+$/u.test(domain) && !/[\s<>,;]/u.test(local);
}

export function initials(name: string): string {
  const words = name.replace(/[^\p{L}\p{N}\s]/gu, " ").trim().split(/\s+/);
  const first = Array.from(words[0] ?? "")[0] ?? "";
  const last = words.length > 1 ? (Array.from(words[words.length - 1] ?? "")[0] ?? "") : "";
  return (first + last).toUpperCase();
}

export type Mark = { text: string; differs: boolean };

/** Marks the letters in which two domains differ, by their common start and end. */
export function compare(one: string, other: string): [Mark[], Mark[]] {
  const a = Array.from(one.toLowerCase());
  const b = Array.from(other.toLowerCase());
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const cut = (x: string[]): Mark[] =>
    [
      { text: x.slice(0, start).join(""), differs: false },
      { text: x.slice(start, x.length - end).join(""), differs: true },
      { text: x.slice(x.length - end).join(""), differs: false },
    ].filter((mark) => mark.text !== "");
  return [cut(a), cut(b)];
}
