// A message with two parts: what is formatted, and the same words for whoever reads mail without formatting. As long as both
// say the same, a change of the formatted part goes into the text too; where they differ, each is its own.

import type { Node } from "prosemirror-model";
import { Transform } from "prosemirror-transform";
import { type Run, textChanges } from "../runs";
import { beyond, formattedDoc, formattedHtml, formattedSchema, partsAgree, textFollowing } from "./formatted";
import { blocksOf, positionOf, readingText } from "./reading";

export type Parts = { text: string; html: string | null };

/** Whether what is written in the formatted part goes into the text too. A message without a text has nothing to follow. */
export function linked(parts: Parts): boolean {
  return parts.html !== null && parts.text !== "" && beyond(parts.html).length === 0 && partsAgree(formattedDoc(parts.html), parts.text);
}

/** Both parts after the formatted one went from one document to another. What is as it came has the bytes it came with. */
export function afterFormatted(now: Parts, original: Parts, before: Node, after: Node): Parts {
  const follows = now.text !== "" && partsAgree(before, now.text);
  if (original.html !== null && beyond(original.html).length === 0) {
    const first = formattedDoc(original.html);
    if (first.eq(after)) return { html: original.html, text: follows && partsAgree(first, original.text) ? original.text : now.text };
  }
  return { html: formattedHtml(after), text: follows ? textFollowing(before, now.text, after) : now.text };
}

export type HtmlChange = { removed: string; added: string; paragraph: number; at: number };

/** What the words of two formatted parts have otherwise. Where only the formatting differs, one change without words. */
export function htmlChanges(before: string, after: string): HtmlChange[] {
  if (before === after) return [];
  const out: HtmlChange[] = [];
  let seen = "";
  const runs = textChanges(readingText(formattedDoc(before)), readingText(formattedDoc(after)));
  for (let i = 0; i < runs.length; i++) {
    const run = runs[i] as Run;
    if (run.kind === "same") {
      seen += run.text;
      continue;
    }
    const next = runs[i + 1];
    const pair = run.kind === "removed" && next?.kind === "added" ? next : null;
    out.push({ removed: run.kind === "removed" ? run.text : "", added: run.kind === "added" ? run.text : (pair?.text ?? ""), paragraph: seen.split("\n").length, at: i });
    if (run.kind === "added") seen += run.text;
    if (pair) {
      seen += pair.text;
      i++;
    }
  }
  return out.length ? out : [{ removed: "", added: "", paragraph: 0, at: -1 }];
}

/** The parts with one change of the formatted part taken back; one that reaches over paragraphs takes back all of them. */
export function htmlPutBack(before: Parts, after: Parts, change: { removed: string; added: string; at: number }): Parts {
  if (before.html === null || after.html === null) return after;
  const [first, last] = [formattedDoc(before.html), formattedDoc(after.html)];
  if (change.at < 0 || /\n/.test(change.removed + change.added)) return afterFormatted(after, before, last, first);
  const blocks = blocksOf(last);
  const runs = textChanges(readingText(first), readingText(last));
  const at = runs.slice(0, change.at).reduce((sum, run) => sum + (run.kind === "removed" ? 0 : run.text.length), 0);
  const [from, to] = [positionOf(blocks, at), positionOf(blocks, at + change.added.length)];
  const marks = last.resolve(from).marksAcross(last.resolve(to)) ?? last.resolve(from).marks();
  const next = new Transform(last);
  if (change.removed) next.replaceWith(from, to, formattedSchema.text(change.removed, marks));
  else next.delete(from, to);
  return afterFormatted(after, before, last, next.doc);
}

/** The parts with a line of its own below the greeting, or without it; where both say the same, in both. */
export function withLine(now: Parts, original: Parts, line: string, on: boolean): Parts {
  if (now.html === null || !linked(now)) {
    const at = now.text.indexOf("\n\n");
    const without = now.text.replace(`${line}\n\n`, "").replace(line, "");
    return { html: now.html, text: !on ? without : at >= 0 && at < 80 ? `${now.text.slice(0, at)}\n\n${line}${now.text.slice(at)}` : `${line}\n\n${now.text}` };
  }
  const before = formattedDoc(now.html);
  const next = new Transform(before);
  if (on) next.insert(before.firstChild?.nodeSize ?? 0, formattedSchema.node("paragraph", null, [formattedSchema.text(line)]));
  else
    before.forEach((block, at) => {
      if (block.textContent === line && next.steps.length === 0) next.delete(at, at + block.nodeSize);
    });
  return afterFormatted(now, original, before, next.doc);
}
