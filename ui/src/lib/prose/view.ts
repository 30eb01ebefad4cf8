// The editor itself: ProseMirror over a plain text or a formatted part. It makes no style of its own and runs under the
// page's policy.

import { baseKeymap, chainCommands, setBlockType, toggleMark, wrapIn } from "prosemirror-commands";
import { history, redo, undo } from "prosemirror-history";
import { keymap } from "prosemirror-keymap";
import { type Node, Slice } from "prosemirror-model";
import { liftListItem, splitListItem, wrapInList } from "prosemirror-schema-list";
import { type Command, EditorState, TextSelection } from "prosemirror-state";
import { EditorView } from "prosemirror-view";
import { formattedDoc, formattedHtml, formattedSchema } from "./formatted";
import { type Drawn, type Labels, marks, marksKey } from "./marks";
import { plainDoc, plainSchema, plainText } from "./plain";

export type Kind = "plain" | "formatted";
export type Format = "bold" | "italic" | "underline" | "bullets" | "numbers" | "quote";
export type Does = Format | "undo" | "redo";

export type Options = {
  kind: Kind;
  value: string;
  drawn: Drawn;
  labels: Labels;
  attributes: Record<string, string>;
  onchange: (value: string, before: Node, after: Node) => void;
  /** What of the formats stands where the caret is. */
  onplace?: (active: ReadonlySet<Format>) => void;
  onfiles: (files: File[]) => void;
};

const s = formattedSchema;
const item = s.nodes["list_item"]!;
const splitLine: Command = (state, dispatch) => {
  const tr = state.tr.deleteSelection();
  dispatch?.(tr.split(tr.selection.from).scrollIntoView());
  return true;
};
const breakLine: Command = (state, dispatch) => {
  dispatch?.(state.tr.replaceSelectionWith(s.nodes["hard_break"]!.create()).scrollIntoView());
  return true;
};

function inside(state: EditorState, name: string): boolean {
  for (let depth = state.selection.$from.depth; depth > 0; depth--) if (state.selection.$from.node(depth).type.name === name) return true;
  return false;
}
function list(name: "bullet_list" | "ordered_list"): Command {
  return (state, dispatch) => (inside(state, name) ? liftListItem(item)(state, dispatch) : wrapInList(s.nodes[name]!)(state, dispatch));
}
const unquote: Command = (state, dispatch) => {
  const { $from, $to } = state.selection;
  const range = $from.blockRange($to, (node) => node.type.name === "blockquote");
  if (!range) return false;
  dispatch?.(state.tr.lift(range, range.depth - 1));
  return true;
};
const formats: Record<Format, Command> = {
  bold: toggleMark(s.marks["strong"]!),
  italic: toggleMark(s.marks["em"]!),
  underline: toggleMark(s.marks["underline"]!),
  bullets: list("bullet_list"),
  numbers: list("ordered_list"),
  quote: (state, dispatch) => (inside(state, "blockquote") ? unquote(state, dispatch) : wrapIn(s.nodes["blockquote"]!)(state, dispatch)),
};

const keysOf: Record<Kind, Record<string, Command>> = {
  plain: { Enter: splitLine, "Shift-Enter": splitLine },
  formatted: { Enter: splitListItem(item), "Shift-Enter": breakLine, Backspace: chainCommands(startOfHeading(), liftListItemAtStart()) },
};
/** Backspace at the start of a heading makes it a paragraph; at the start of a list's item, takes it out of the list. */
function startOfHeading(): Command {
  return (state, dispatch) => (atStart(state) && state.selection.$from.parent.type.name === "heading" ? setBlockType(s.nodes["paragraph"]!)(state, dispatch) : false);
}
function liftListItemAtStart(): Command {
  return (state, dispatch) => (atStart(state) && state.selection.$from.index(-1) === 0 ? liftListItem(item)(state, dispatch) : false);
}
function atStart(state: EditorState): boolean {
  return state.selection.empty && state.selection.$from.parentOffset === 0;
}

function active(state: EditorState): ReadonlySet<Format> {
  const out = new Set<Format>();
  const { from, to, empty, $from } = state.selection;
  for (const [format, name] of [["bold", "strong"], ["italic", "em"], ["underline", "underline"]] as const) {
    const type = s.marks[name]!;
    if (empty ? type.isInSet(state.storedMarks ?? $from.marks()) : state.doc.rangeHasMark(from, to, type)) out.add(format);
  }
  for (const [format, name] of [["bullets", "bullet_list"], ["numbers", "ordered_list"], ["quote", "blockquote"]] as const) if (inside(state, name)) out.add(format);
  return out;
}

export class Prose {
  readonly view: EditorView;
  readonly #kind: Kind;
  #value: string;
  #options: Options;

  constructor(place: HTMLElement, options: Options) {
    this.#kind = options.kind;
    this.#value = options.value;
    this.#options = options;
    const formatted = options.kind === "formatted";
    const state = EditorState.create({
      doc: this.#doc(options.value),
      plugins: [history(), keymap(keysOf[options.kind]), keymap(baseKeymap), marks(options.drawn, options.labels)],
    });
    this.view = new EditorView(
      { mount: place },
      {
        state,
        attributes: () => this.#options.attributes,
        dispatchTransaction: (tr) => {
          const before = this.view.state.doc;
          const next = this.view.state.apply(tr);
          this.view.updateState(next);
          if (formatted && this.#options.onplace && (tr.docChanged || tr.selectionSet || tr.storedMarksSet)) this.#options.onplace(active(next));
          if (!tr.docChanged) return;
          const value = this.#text(next.doc);
          if (value === this.#value) return;
          this.#value = value;
          if (!tr.getMeta("from outside")) this.#options.onchange(value, before, next.doc);
        },
        clipboardTextSerializer: (slice) => slice.content.textBetween(0, slice.content.size, formatted ? "\n\n" : "\n", (leaf) => leaf.type.spec.leafText?.(leaf) ?? ""),
        ...(formatted ? {} : { clipboardTextParser: (text: string) => new Slice(plainDoc(text.replaceAll("\r\n", "\n")).content, 1, 1) }),
        handleDOMEvents: {
          paste: (_view, event) => {
            const data = event.clipboardData;
            const files = [...(data?.files ?? [])];
            const text = data?.getData("text/plain") ?? "";
            // In a plain text the plain form of what was copied counts, whatever else it was.
            if (files.length && !text) this.#options.onfiles(files);
            else if (!formatted && text) this.insert(text);
            else return false;
            event.preventDefault();
            return true;
          },
        },
        handleDrop: (_view, event) => {
          const files = [...(event.dataTransfer?.files ?? [])];
          if (!files.length) return false;
          event.preventDefault();
          this.#options.onfiles(files);
          return true;
        },
      },
    );
    this.#options.onplace?.(active(state));
  }

  #doc(value: string): Node {
    return this.#kind === "plain" ? plainDoc(value) : formattedDoc(value);
  }
  #text(doc: Node): string {
    return this.#kind === "plain" ? plainText(doc) : formattedHtml(doc);
  }

  /** Another text from outside: something put back, a newer version. Undo takes it back like everything else. */
  set(value: string): void {
    if (value === this.#value) return;
    this.#value = value;
    const [now, next] = [this.view.state.doc, this.#doc(value)];
    const from = now.content.findDiffStart(next.content);
    const ends = now.content.findDiffEnd(next.content);
    if (from === null || !ends) return;
    const overlap = from - Math.min(ends.a, ends.b);
    const [a, b] = overlap > 0 ? [ends.a + overlap, ends.b + overlap] : [ends.a, ends.b];
    const tr = this.view.state.tr.replace(from, a, next.slice(from, b)).setMeta("from outside", true);
    // A step that could not be fitted in gives way to the whole.
    if (!tr.doc.eq(next)) tr.replaceWith(0, tr.doc.content.size, next.content);
    this.view.dispatch(tr);
  }
  draw(drawn: Drawn): void {
    this.view.dispatch(this.view.state.tr.setMeta(marksKey, drawn));
  }
  dress(attributes: Record<string, string>): void {
    this.#options = { ...this.#options, attributes };
    this.view.setProps({});
  }
  tell(part: Pick<Options, "onchange" | "onfiles">): void {
    this.#options = { ...this.#options, ...part };
  }

  does(what: Does): boolean {
    const command = what === "undo" ? undo : what === "redo" ? redo : this.#kind === "formatted" ? formats[what] : null;
    if (!command) return false;
    const done = command(this.view.state, this.view.dispatch, this.view);
    this.view.focus();
    return done;
  }

  /** Where the words are linked to now; null where no link can be made: nothing is chosen and no link is there. */
  link(): string | null {
    const { from, to, empty, $from } = this.view.state.selection;
    const type = s.marks["link"]!;
    if (this.#kind === "plain") return null;
    const here = type.isInSet($from.marks()) ?? type.isInSet(this.view.state.doc.nodeAt(from)?.marks ?? []);
    if (here) return here.attrs["href"] as string;
    return empty || !this.view.state.doc.textBetween(from, to, " ").trim() ? null : "";
  }
  /** Empty takes the link away. */
  setLink(href: string): void {
    const { state } = this.view;
    const type = s.marks["link"]!;
    let { from, to } = state.selection;
    if (state.selection.empty) {
      const { $from } = state.selection;
      const start = $from.start();
      $from.parent.forEach((child, at) => {
        if (type.isInSet(child.marks) && start + at <= from && from <= start + at + child.nodeSize) [from, to] = [start + at, start + at + child.nodeSize];
      });
    }
    const tr = state.tr.removeMark(from, to, type);
    if (href) tr.addMark(from, to, type.create({ href }));
    this.view.dispatch(tr.scrollIntoView());
    this.view.focus();
  }

  /** At the caret, in place of what is chosen. */
  insert(text: string): void {
    const { state } = this.view;
    let tr = state.tr.deleteSelection();
    if (this.#kind === "plain") {
      const line = tr.selection.$from.parent;
      const doc = plainDoc(text.replaceAll("\r\n", "\n"));
      const lines: Node[] = [];
      doc.forEach((one) => lines.push(plainSchema.node("line", line.attrs, one.content)));
      tr = tr.replaceSelection(new Slice(plainSchema.node("doc", null, lines).content, 1, 1));
    } else {
      text.replaceAll("\r\n", "\n").split(/\n[ \t]*\n/).forEach((part, i) => {
        if (i) tr = tr.split(tr.selection.from);
        part.split("\n").forEach((row, j) => {
          if (j) tr = tr.replaceSelectionWith(s.nodes["hard_break"]!.create());
          if (row) tr = tr.insertText(row);
        });
      });
    }
    this.view.dispatch(tr.scrollIntoView());
    this.view.focus();
  }
  end(): void {
    const { state } = this.view;
    this.view.dispatch(state.tr.setSelection(TextSelection.atEnd(state.doc)));
  }
  focus(): void {
    this.view.focus();
  }
  destroy(): void {
    this.view.destroy();
  }
}
