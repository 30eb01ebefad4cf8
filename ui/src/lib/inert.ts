// HTML as it may stand in the frame that shows a mail. The frame's policy stops what would be loaded and its sandbox what
// would run, but neither stops a hint: WebKit opens a connection for `<link rel=preconnect>`, and whoever is asked knows
// that the mail is being read. What is taken out here is nothing that a person could see.

const HINTS = "link, meta, base";

/** The same without hints, however often it has to be read to be free of them; nothing at all where that has no end. */
export function inert(html: string): string {
  let text = html;
  for (let turn = 0; turn < 8; turn++) {
    const page = new DOMParser().parseFromString(`<!doctype html><body>${text}`, "text/html");
    const found = page.querySelectorAll(HINTS);
    for (const one of found) one.remove();
    for (const inner of page.querySelectorAll("template")) inner.remove();
    const next = page.body?.innerHTML ?? "";
    // What is read anew may be other than what was written: only a text that stays the same is known.
    if (next === text && found.length === 0) return text;
    text = next;
  }
  return "";
}
