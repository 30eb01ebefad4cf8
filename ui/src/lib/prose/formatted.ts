// The formatted part of a message as an editor's document: paragraphs, headings, lists, quotes, bold, italic, underline and
// links. A part that has more than these is not edited as it is: it would lose something without anybody saying so.

import { DOMParser as Reader, type Mark, type Node, Schema } from "prosemirror-model";

const schemes = /^(https?:|mailto:|tel:)/i;
/** Where a link may lead; anything else is no link. */
const leads = (href: unknown): href is string => typeof href === "string" && schemes.test(href);
// What is pasted may carry attributes of any kind (ProseMirror takes them from data-pm-slice unchecked): only these are written.
const levelOf = (node: Node): number => ([1, 2, 3].includes(node.attrs["level"] as number) ? (node.attrs["level"] as number) : 1);
const orderOf = (node: Node): number => (Number.isInteger(node.attrs["order"]) ? (node.attrs["order"] as number) : 1);

export const formattedSchema = new Schema({
  nodes: {
    doc: { content: "block+" },
    paragraph: { group: "block", content: "inline*", selectable: false, toDOM: () => ["p", { dir: "auto" }, 0], parseDOM: [{ tag: "p" }] },
    heading: {
      group: "block",
      content: "inline*",
      defining: true,
      selectable: false,
      attrs: { level: { default: 1, validate: "number" } },
      toDOM: (node) => [`h${levelOf(node)}`, { dir: "auto" }, 0],
      parseDOM: [1, 2, 3].map((level) => ({ tag: `h${level}`, attrs: { level } })),
    },
    blockquote: { group: "block", content: "block+", defining: true, selectable: false, toDOM: () => ["blockquote", 0], parseDOM: [{ tag: "blockquote" }] },
    ordered_list: {
      group: "block",
      content: "list_item+",
      selectable: false,
      attrs: { order: { default: 1, validate: "number" } },
      toDOM: (node) => ["ol", { start: orderOf(node) }, 0],
      parseDOM: [{ tag: "ol", getAttrs: (dom) => ({ order: Number(dom.getAttribute("start") ?? 1) || 1 }) }],
    },
    bullet_list: { group: "block", content: "list_item+", selectable: false, toDOM: () => ["ul", 0], parseDOM: [{ tag: "ul" }] },
    list_item: { content: "paragraph block*", defining: true, selectable: false, toDOM: () => ["li", 0], parseDOM: [{ tag: "li" }] },
    horizontal_rule: { group: "block", selectable: false, toDOM: () => ["hr"], parseDOM: [{ tag: "hr" }] },
    hard_break: { group: "inline", inline: true, selectable: false, leafText: () => "\n", toDOM: () => ["br"], parseDOM: [{ tag: "br" }] },
    text: { group: "inline" },
  },
  marks: {
    // Not a real link: nothing in the editor leads anywhere. Where it would lead is listed below the editor.
    link: {
      attrs: { href: { validate: "string" } },
      inclusive: false,
      toDOM: (mark) => ["span", { class: "lnk", title: mark.attrs["href"], "data-href": mark.attrs["href"] }, 0],
      parseDOM: [
        { tag: "a[href]", getAttrs: (dom) => (leads(dom.getAttribute("href")) ? { href: dom.getAttribute("href") } : false) },
        { tag: "span[data-href]", getAttrs: (dom) => (leads(dom.getAttribute("data-href")) ? { href: dom.getAttribute("data-href") } : false) },
      ],
    },
    strong: { toDOM: () => ["strong", 0], parseDOM: [{ tag: "strong" }, { tag: "b" }] },
    em: { toDOM: () => ["em", 0], parseDOM: [{ tag: "em" }, { tag: "i" }] },
    underline: { toDOM: () => ["u", 0], parseDOM: [{ tag: "u" }] },
  },
});

export type Beyond = "pictures" | "tables" | "styles" | "else";

const known = new Set("html head body meta title p div span br hr b strong i em u a ul ol li blockquote h1 h2 h3".split(" "));
const tables = new Set("table tbody thead tfoot tr td th caption col colgroup".split(" "));
const harmless: Record<string, RegExp> = { a: /^(href|rel|target)$/, ol: /^start$/, meta: /^(charset|name|content|http-equiv)$/ };

function read(html: string): Document {
  // Nothing of such a document is loaded or run.
  const page = new DOMParser().parseFromString(html, "text/html");
  // A paragraph that only keeps a line open is an empty one.
  for (const br of page.querySelectorAll("p > br:only-child, div > br:only-child")) if (br.parentElement?.textContent === "") br.remove();
  return page;
}

/** What of a formatted part the editor could not keep; empty where it can be edited as it is. */
export function beyond(html: string): Beyond[] {
  const found = new Set<Beyond>();
  for (const one of read(html).querySelectorAll("*")) {
    const name = one.localName;
    if (name === "img" || name === "picture" || name === "svg") found.add("pictures");
    else if (tables.has(name)) found.add("tables");
    else if (name === "style" || name === "font" || name === "center" || name === "small") found.add("styles");
    else if (!known.has(name)) found.add("else");
    for (const attribute of one.getAttributeNames())
      if (!harmless[name]?.test(attribute)) found.add(/^(style|class|id|align|width|height|bgcolor|color|background|border|face|size|hidden)$/.test(attribute) ? "styles" : "else");
    if (name === "a" && !schemes.test(one.getAttribute("href") ?? "")) found.add("else");
  }
  return [...found];
}

export function formattedDoc(html: string): Node {
  return Reader.fromSchema(formattedSchema).parse(read(html).body);
}

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const quoted = (text: string) => escaped(text).replaceAll('"', "&quot;");
/** Spaces that a reader of HTML would run together stay as many as they are on the screen. */
const spaced = (text: string, first: boolean) => text.replace(/ (?= )/g, "\u00a0").replace(/^ /, first ? "\u00a0" : " ");

function opening(mark: Mark): string {
  const href: unknown = mark.attrs["href"];
  return mark.type.name === "link" ? (leads(href) ? `<a href="${quoted(href)}">` : "") : mark.type.name === "underline" ? "<u>" : `<${mark.type.name}>`;
}
const closing = (mark: Mark) => (mark.type.name === "link" ? (leads(mark.attrs["href"]) ? "</a>" : "") : mark.type.name === "underline" ? "</u>" : `</${mark.type.name}>`);

function inlineHtml(block: Node): string {
  let out = "";
  let open: readonly Mark[] = [];
  let first = true;
  const until = (marks: readonly Mark[]) => {
    let same = 0;
    while (same < open.length && same < marks.length && (open[same] as Mark).eq(marks[same] as Mark)) same++;
    for (let i = open.length - 1; i >= same; i--) out += closing(open[i] as Mark);
    for (const mark of marks.slice(same)) out += opening(mark);
    open = marks;
  };
  block.forEach((node) => {
    until(node.marks);
    out += node.isText ? escaped(spaced(node.text ?? "", first)) : "<br>";
    first = !node.isText;
  });
  until([]);
  // An empty paragraph takes the room of a line on the screen, and in the mail.
  return out === "" || out.endsWith("<br>") ? `${out}<br>` : out;
}

function blockHtml(node: Node): string {
  const inside = () => {
    const parts: string[] = [];
    node.forEach((child) => parts.push(blockHtml(child)));
    return parts.join("\n");
  };
  switch (node.type.name) {
    case "paragraph":
      return `<p>${inlineHtml(node)}</p>`;
    case "heading":
      return `<h${levelOf(node)}>${inlineHtml(node)}</h${levelOf(node)}>`;
    case "blockquote":
      return `<blockquote>\n${inside()}\n</blockquote>`;
    case "bullet_list":
      return `<ul>\n${inside()}\n</ul>`;
    case "ordered_list":
      return `<ol${orderOf(node) === 1 ? "" : ` start="${orderOf(node)}"`}>\n${inside()}\n</ol>`;
    case "list_item":
      return node.childCount === 1 ? `<li>${inlineHtml(node.child(0))}</li>` : `<li>${inside()}</li>`;
    case "horizontal_rule":
      return "<hr>";
    default:
      return inside();
  }
}

export function formattedHtml(doc: Node): string {
  return blockHtml(doc);
}

/** A text as a formatted part: an empty line parts paragraphs, a line end stays one. */
export function htmlOfText(text: string): string {
  const { doc, paragraph, hard_break } = formattedSchema.nodes as Record<string, NonNullable<(typeof formattedSchema.nodes)[string]>>;
  const blocks = text.replaceAll("\r\n", "\n").replace(/\n+$/, "").split(/\n[ \t]*\n/).map((part) => {
    const inside = part.split("\n").flatMap((line, i) => [...(i ? [hard_break!.create()] : []), ...(line ? [formattedSchema.text(line)] : [])]);
    return paragraph!.create(null, inside);
  });
  return formattedHtml(doc!.create(null, blocks));
}

function inlineText(block: Node): string {
  let out = "";
  block.forEach((node, _at, i) => {
    out += node.isText ? node.text : "\n";
    const link = node.marks.find((mark) => mark.type.name === "link");
    const next = i + 1 < block.childCount ? block.child(i + 1) : null;
    if (!link || next?.marks.some((mark) => mark.eq(link))) return;
    const href = link.attrs["href"] as string;
    const bare = href.replace(/^(mailto:|tel:|https?:\/\/)/i, "").replace(/\/$/, "");
    if (!out.replace(/\/$/, "").endsWith(bare)) out += ` (${href.replace(/^mailto:|^tel:/i, "")})`;
  });
  return out;
}

function blockText(node: Node): string[] {
  const all = () => {
    const parts: string[] = [];
    node.forEach((child) => parts.push(...blockText(child)));
    return parts;
  };
  switch (node.type.name) {
    case "paragraph":
    case "heading":
      return [inlineText(node)];
    case "blockquote":
      return [all().join("\n\n").replace(/^/gm, "> ")];
    case "horizontal_rule":
      return ["--"];
    case "bullet_list":
    case "ordered_list": {
      const lines: string[] = [];
      node.forEach((item, _at, i) => {
        const lead = node.type.name === "bullet_list" ? "- " : `${orderOf(node) + i}. `;
        const parts: string[] = [];
        item.forEach((child) => parts.push(...blockText(child)));
        lines.push(lead + parts.join("\n").replaceAll("\n", `\n${" ".repeat(lead.length)}`));
      });
      return [lines.join("\n")];
    }
    default:
      return all();
  }
}

/** The same words for whoever reads mail without formatting. */
export function textOfFormatted(doc: Node): string {
  return blockText(doc).join("\n\n");
}

const address = /[(<]?((?:https?:\/\/|mailto:)[^\s)<>]+)[)>]?/gi;
/** Marks of a plain text that a formatted part has as formatting: quotes, list points, rules. */
const drawn = /^[ \t]*(?:>[> \t]*)?(?:[-*+•][ \t]+|[-=~_*]{3,}[ \t]*$)?/gm;

/**
 * What a text says: its words with their accents, its numbers with sign, point, unit and currency, and where it leads.
 * Line ends, punctuation between words and the case of letters say nothing.
 */
function said(text: string): string {
  const leadsTo = [...text.matchAll(address)].map((found) => (found[1] as string).replace(/[.,;:!?]+$/, "").replace(/\/$/, ""));
  const rest = text.replace(address, " ").replace(drawn, "");
  const words = rest.match(/-(?=\p{Sc}?\p{N})|(?:[\p{L}\p{M}\p{N}\p{S}%‰@]|(?<=\p{N})[.,:](?=\p{N}))+/gu) ?? [];
  return `${words.join(" ").toLowerCase()}\n${[...new Set(leadsTo)].sort().join(" ")}`;
}

/** Whether both parts say the same, word for word. Both lead to the same places. */
export function partsAgree(doc: Node, text: string): boolean {
  return said(textOfFormatted(doc)) === said(text);
}

/**
 * The text after the formatted part was changed from one document to another. Paragraphs that were not touched keep the
 * form they had in the text.
 */
export function textFollowing(before: Node, text: string, after: Node): string {
  const [own, gaps]: [string[], string[]] = [[], []];
  text.split(/(\r?\n\r?\n)/).forEach((part, i) => (i % 2 ? gaps : own).push(part));
  const end = text.includes("\r\n") ? "\r\n" : "\n";
  const was = blockText(before);
  const kept = new Map<string, string>();
  // As many paragraphs are not yet the same ones: only one that says what the block said is its form.
  if (own.length === was.length)
    was.forEach((block, i) => {
      if (said(block) === said(own[i] as string)) kept.set(block, own[i] as string);
    });
  return blockText(after)
    .map((block) => kept.get(block) ?? block.replaceAll("\n", end))
    .join(gaps[0] ?? end + end);
}
