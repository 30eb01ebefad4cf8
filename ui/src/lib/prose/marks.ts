// What is drawn around the words while they are written: facts to look at, characters nobody sees, places to be filled,
// changes from an earlier text. Nothing of it is in the text.

import type { Node } from "prosemirror-model";
import { type EditorState, Plugin, PluginKey } from "prosemirror-state";
import { Decoration, DecorationSet } from "prosemirror-view";
import { type Run, textChanges } from "../runs";
import { facts } from "../facts";
import { placeholders } from "../placeholders";
import { pieces } from "../unseen";
import { type Block, blocksOf, positionOf, rangesOf } from "./reading";

/** `against`: what the customer wrote. `before`: an earlier reading text, where changes from it are drawn; null: none are. */
export type Drawn = { against: string; before: string | null };
export type Labels = { notTheirs: string; unfilled: string; unseenChar: (name: string, code: string) => string; unseenTitle: (code: string) => string };

function chip(name: string, code: string, labels: Labels): HTMLElement {
  const span = document.createElement("span");
  span.className = "unseen";
  span.textContent = name;
  span.title = labels.unseenTitle(code);
  span.setAttribute("role", "img");
  span.setAttribute("aria-label", labels.unseenChar(name, code));
  return span;
}

type Made = (by: number) => Decoration;

/** Of one block, each to be put where the inside of the block stands. */
function inBlock(text: string, against: string, labels: Labels): Made[] {
  const out: Made[] = [];
  let at = 0;
  for (const run of facts(text, against)) {
    const [from, to] = [at, at + run.text.length];
    if (run.fact) out.push((by) => Decoration.inline(by + from, by + to, { class: run.fresh ? "fact fact--new" : "fact", ...(run.fresh ? { title: labels.notTheirs } : {}) }));
    at = to;
  }
  for (const place of placeholders(text)) out.push((by) => Decoration.inline(by + place.from, by + place.to, { class: "unfilled", title: labels.unfilled }));
  at = 0;
  for (const piece of pieces(text, true)) {
    if (piece.unseen === undefined) {
      at += piece.text.length;
      continue;
    }
    const { unseen, code } = piece;
    const here = at;
    if (code !== "U+000D") out.push((by) => Decoration.widget(by + here, () => chip(unseen, code, labels), { side: -1, key: `${code} ${by + here}` }));
    at += String.fromCodePoint(Number.parseInt(code.slice(2), 16)).length;
  }
  return out;
}

function gone(text: string): () => HTMLElement {
  return () => {
    const del = document.createElement("del");
    del.textContent = text;
    return del;
  };
}

function changed(blocks: Block[], before: string): Decoration[] {
  const out: Decoration[] = [];
  let at = 0;
  textChanges(before.replaceAll("\r\n", "\n"), blocks.map((block) => block.text).join("\n")).forEach((run: Run, i) => {
    if (run.kind === "removed") out.push(Decoration.widget(positionOf(blocks, at), gone(run.text), { side: -1, key: `${i} ${run.text}` }));
    else {
      if (run.kind === "added") for (const range of rangesOf(blocks, at, at + run.text.length)) out.push(Decoration.inline(range.from, range.to, { nodeName: "ins" }));
      at += run.text.length;
    }
  });
  return out;
}

export const marksKey = new PluginKey<DecorationSet>("marks");

/** While an input method composes, what is drawn only moves along: a changed word would end the composition. */
export function marks(start: Drawn, labels: Labels): Plugin<DecorationSet> {
  let drawn = start;
  let known = new WeakMap<Node, Made[]>();
  let composing = false;
  const make = (state: EditorState): DecorationSet => {
    const blocks = blocksOf(state.doc);
    const all = blocks.flatMap((block) => {
      let own = known.get(block.node);
      if (!own) known.set(block.node, (own = inBlock(block.text, drawn.against, labels)));
      return own.map((one) => one(block.at));
    });
    if (drawn.before !== null) all.push(...changed(blocks, drawn.before));
    return DecorationSet.create(state.doc, all);
  };
  return new Plugin<DecorationSet>({
    key: marksKey,
    state: {
      init: (_config, state) => make(state),
      apply(tr, old, _before, state) {
        const told = tr.getMeta(marksKey) as Drawn | "again" | undefined;
        if (told && told !== "again") {
          if (told.against !== drawn.against) known = new WeakMap();
          drawn = told;
        }
        if (!told && !tr.docChanged) return old;
        return composing && told === undefined ? old.map(tr.mapping, tr.doc) : make(state);
      },
    },
    props: {
      decorations: (state) => marksKey.getState(state),
      handleDOMEvents: {
        compositionstart: () => {
          composing = true;
          return false;
        },
        compositionend: (view) => {
          composing = false;
          // Once the editor has read what was composed.
          setTimeout(() => {
            if (!view.isDestroyed && !view.composing) view.dispatch(view.state.tr.setMeta(marksKey, "again"));
          }, 60);
          return false;
        },
      },
    },
  });
}
