// HTML as it may stand in the frame that shows a mail. The frame's policy stops what would be loaded and its sandbox what
// would run, but neither stops a connection that is only made ready: WebKit opens one for `<link rel=preconnect>`, and one
// for a link that is clicked, before it asks whether it may go there. Whoever is asked then knows that the mail is being
// read. So hints are taken out, and what leads somewhere leads nowhere; where it would, is listed below the frame.

const HINTS = "link, meta, base, template";
const LEADS = ["href", "xlink:href", "ping", "target", "action", "formaction"];
const LEADING = "a, area, form, button, input, svg *, math *";

/** The same without them, however often it has to be read to be free of them; nothing at all where that has no end. */
export function inert(html: string): string {
  let text = html;
  for (let turn = 0; turn < 8; turn++) {
    const page = new DOMParser().parseFromString(`<!doctype html><body>${text}`, "text/html");
    const found = page.querySelectorAll(HINTS);
    for (const one of found) one.remove();
    for (const one of page.querySelectorAll(LEADING)) for (const name of LEADS) one.removeAttribute(name);
    const next = page.body?.innerHTML ?? "";
    // What is read anew may be other than what was written: only a text that stays the same is known.
    if (next === text) return text;
    text = next;
  }
  return "";
}
