// A plain text as an editor's document: one line a block. Nothing of the text is lost or made even on the way in or out,
// so that the bytes that were not touched stay the bytes that came.

import { type Node, Schema } from "prosemirror-model";

export const plainSchema = new Schema({
  nodes: {
    doc: { content: "line+" },
    line: {
      content: "(text | cr)*",
      // The line ends with CR LF; of no meaning on the last one.
      attrs: { cr: { default: false } },
      whitespace: "pre",
      selectable: false,
      toDOM: () => ["div", { class: "ln", dir: "auto" }, 0],
      parseDOM: [{ tag: "div" }, { tag: "p" }],
    },
    // A carriage return that ends no line. A browser would read it back as a line end, so it is a thing of its own.
    cr: { inline: true, atom: true, selectable: false, leafText: () => "\r", toDOM: () => ["span", { class: "unseen" }, "CR"], parseDOM: [{ tag: "span.unseen" }] },
    text: {},
  },
});

function inline(text: string): Node[] {
  return text.split(/(\r)/).flatMap((part) => (part === "" ? [] : [part === "\r" ? plainSchema.node("cr") : plainSchema.text(part)]));
}

export function plainDoc(text: string): Node {
  const lines = text.split("\n");
  const last = lines.length - 1;
  let cr = false;
  return plainSchema.node(
    "doc",
    null,
    lines.map((line, i) => {
      // What is typed after the last line ends as the others do.
      if (i < last) cr = line.endsWith("\r");
      return plainSchema.node("line", { cr }, inline(i < last && cr ? line.slice(0, -1) : line));
    }),
  );
}

export function plainText(doc: Node): string {
  let out = "";
  doc.forEach((line, _at, i) => {
    out += line.textContent;
    if (i < doc.childCount - 1) out += line.attrs["cr"] ? "\r\n" : "\n";
  });
  return out;
}
