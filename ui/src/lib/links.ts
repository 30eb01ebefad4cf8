// The links of a formatted mail with their true targets, from HTML that the engine has sanitised. Pure but for the parser.

export type Link = { text: string; target: string; differs: boolean };

const domain = /^(?:[a-z]+:\/\/)?((?:[\p{L}\p{N}-]+\.)+[\p{L}]{2,})(?:[/?#:].*)?$/iu;

/** `differs`: the text names one place and the link leads to another. */
export function linksOf(html: string): Link[] {
  const page = new DOMParser().parseFromString(html, "text/html");
  return [...page.querySelectorAll("a[href]")].map((a) => {
    const target = a.getAttribute("href") ?? "";
    const text = (a.textContent ?? "").replace(/\s+/g, " ").trim();
    const said = domain.exec(text)?.[1]?.toLowerCase();
    const host = domain.exec(target)?.[1]?.toLowerCase();
    const same = said === host || said === host?.replace(/^www\./, "") || host === said?.replace(/^www\./, "");
    return { text: text || target, target, differs: said !== undefined && host !== undefined && !same };
  });
}
