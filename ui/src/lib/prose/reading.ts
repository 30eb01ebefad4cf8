// The words of an editor's document as they are read, and where in it they stand.

import type { Node } from "prosemirror-model";

export type Block = { at: number; node: Node; text: string };

/** Every block of text with where its inside begins. One character of its text is one position. */
export function blocksOf(doc: Node): Block[] {
  const out: Block[] = [];
  doc.descendants((node, at) => {
    if (!node.isTextblock) return true;
    out.push({ at: at + 1, node, text: node.textBetween(0, node.content.size, undefined, (leaf) => leaf.type.spec.leafText?.(leaf) ?? "\ufffc") });
    return false;
  });
  return out;
}

/** The words as they are read, a line a block. */
export function readingText(doc: Node): string {
  return blocksOf(doc).map((block) => block.text).join("\n");
}

/** The pieces of a document that a stretch of its reading text covers. */
export function rangesOf(blocks: Block[], from: number, to: number): { from: number; to: number }[] {
  const out: { from: number; to: number }[] = [];
  let start = 0;
  for (const block of blocks) {
    const end = start + block.text.length;
    const [a, b] = [Math.max(from, start), Math.min(to, end)];
    if (a < b) out.push({ from: block.at + a - start, to: block.at + b - start });
    start = end + 1;
  }
  return out;
}

export function positionOf(blocks: Block[], offset: number): number {
  let start = 0;
  for (const block of blocks) {
    if (offset <= start + block.text.length) return block.at + Math.max(0, offset - start);
    start += block.text.length + 1;
  }
  const last = blocks[blocks.length - 1];
  return last ? last.at + last.text.length : 0;
}
