// One table of every key: the help page, the key caps on buttons and the handlers all read it (design reference,
// section 12). `mod` is Ctrl, or the command key on macOS. A key is valid in the places it names and nowhere else.

import { deliberate } from "./lib/gate";
import { w } from "./words";

export type Place = "anywhere" | "list" | "review" | "held" | "edit" | "unknown" | "record" | "history";
export type Group = "move" | "go" | "review" | "editing" | "unknown" | "record" | "app";

export type Key = {
  id: string;
  group: Group;
  where: readonly Place[];
  /** Alternatives; a sequence is written with a space. */
  keys: readonly string[];
  /** Also acts while the caret is in a text. */
  typing?: true;
  /** In a text it acts only there where the text is the draft. */
  draftOnly?: true;
  /** Never on key repeat: it decides something or leaves something. */
  once?: true;
  /** Shown in the help with this caption for the alternatives. */
  hidden?: true;
};

export const groups: readonly { id: Group; column: 0 | 1 | 2 }[] = [
  { id: "move", column: 0 },
  { id: "go", column: 0 },
  { id: "review", column: 1 },
  { id: "editing", column: 1 },
  { id: "unknown", column: 2 },
  { id: "record", column: 2 },
  { id: "app", column: 2 },
];

export const keys = [
  { id: "next", group: "move", where: ["list"], keys: ["j", "ArrowDown"] },
  { id: "previous", group: "move", where: ["list"], keys: ["k", "ArrowUp"] },
  { id: "open", group: "move", where: ["list", "history"], keys: ["Enter"] },
  { id: "out", group: "move", where: ["anywhere"], keys: ["Escape"], typing: true, once: true },
  { id: "nextArea", group: "move", where: ["anywhere"], keys: ["F6"], typing: true },
  { id: "previousArea", group: "move", where: ["anywhere"], keys: ["shift+F6"], typing: true },
  { id: "focusView", group: "move", where: ["review"], keys: ["f"] },
  { id: "sidebar", group: "move", where: ["anywhere"], keys: ["["] },
  { id: "palette", group: "move", where: ["anywhere"], keys: ["mod+k"], typing: true },
  { id: "search", group: "move", where: ["anywhere"], keys: ["/"] },
  { id: "goAwaiting", group: "go", where: ["anywhere"], keys: ["g a"] },
  { id: "goOnTheWay", group: "go", where: ["anywhere"], keys: ["g o"] },
  { id: "goUnknown", group: "go", where: ["anywhere"], keys: ["g u"] },
  { id: "goReview", group: "go", where: ["anywhere"], keys: ["g r"] },
  { id: "goHistory", group: "go", where: ["anywhere"], keys: ["g h"] },
  { id: "goInsights", group: "go", where: ["anywhere"], keys: ["g i"] },
  { id: "goDestinations", group: "go", where: ["anywhere"], keys: ["g d"] },
  { id: "goSources", group: "go", where: ["anywhere"], keys: ["g s"] },
  { id: "goSettings", group: "go", where: ["anywhere"], keys: ["mod+,"], typing: true },
  { id: "check", group: "review", where: ["review"], keys: ["c"] },
  { id: "approve", group: "review", where: ["review"], keys: ["mod+Enter"], typing: true, draftOnly: true, once: true },
  { id: "approveAll", group: "review", where: ["review"], keys: ["mod+shift+Enter"], once: true },
  { id: "undo", group: "review", where: ["held"], keys: ["z", "mod+z"], once: true },
  { id: "edit", group: "review", where: ["review"], keys: ["e"], once: true },
  { id: "reject", group: "review", where: ["review"], keys: ["x"], once: true },
  { id: "action1", group: "review", where: ["review"], keys: ["1"] },
  { id: "action2", group: "review", where: ["review"], keys: ["2"] },
  { id: "action3", group: "review", where: ["review"], keys: ["3"] },
  { id: "changes", group: "review", where: ["review"], keys: ["d"] },
  { id: "approveVersion", group: "editing", where: ["edit"], keys: ["mod+Enter"], typing: true, draftOnly: true, once: true },
  { id: "save", group: "editing", where: ["edit"], keys: ["mod+s"], typing: true, once: true },
  { id: "asSent", group: "editing", where: ["edit"], keys: ["mod+shift+p"], typing: true },
  { id: "editChanges", group: "editing", where: ["edit"], keys: ["mod+d"], typing: true, once: true },
  { id: "snippet", group: "editing", where: ["edit"], keys: ["mod+j"], typing: true, once: true },
  { id: "undoText", group: "editing", where: ["edit"], keys: ["mod+z"], typing: true, draftOnly: true },
  { id: "redoText", group: "editing", where: ["edit"], keys: ["mod+shift+z", "mod+y"], typing: true, draftOnly: true },
  { id: "bold", group: "editing", where: ["edit"], keys: ["mod+b"], typing: true, draftOnly: true },
  { id: "italic", group: "editing", where: ["edit"], keys: ["mod+i"], typing: true, draftOnly: true },
  { id: "underline", group: "editing", where: ["edit"], keys: ["mod+u"], typing: true, draftOnly: true },
  { id: "link", group: "editing", where: ["edit"], keys: ["mod+shift+k"], typing: true, draftOnly: true, once: true },
  { id: "bullets", group: "editing", where: ["edit"], keys: ["mod+shift+b"], typing: true, draftOnly: true },
  { id: "numbers", group: "editing", where: ["edit"], keys: ["mod+shift+n"], typing: true, draftOnly: true },
  { id: "quote", group: "editing", where: ["edit"], keys: ["mod+shift+q"], typing: true, draftOnly: true },
  { id: "ask", group: "unknown", where: ["unknown"], keys: ["q"], once: true },
  { id: "proof", group: "unknown", where: ["unknown"], keys: ["p"], once: true },
  { id: "revise", group: "unknown", where: ["unknown", "record"], keys: ["n"], once: true },
  { id: "record", group: "record", where: ["review", "unknown", "held"], keys: ["i"], once: true },
  { id: "raw", group: "record", where: ["review", "unknown", "record"], keys: ["v"], once: true },
  { id: "copy", group: "record", where: ["review", "unknown", "record", "edit"], keys: ["y"] },
  { id: "export", group: "record", where: ["history"], keys: ["mod+shift+e"], typing: true, once: true },
  { id: "help", group: "app", where: ["anywhere"], keys: ["?"] },
  { id: "larger", group: "app", where: ["anywhere"], keys: ["mod++", "mod+="], typing: true },
  { id: "smaller", group: "app", where: ["anywhere"], keys: ["mod+-"], typing: true },
  { id: "theme", group: "app", where: ["anywhere"], keys: ["mod+shift+l"], typing: true },
] as const satisfies readonly Key[];

export type KeyId = (typeof keys)[number]["id"];

/** What a key does, as the help, the palette and the screen reader say it. */
export function labelOf(id: string): string {
  return w.keyLabel[id] ?? id;
}

const signs: Record<string, string> = { enter: "↵", arrowdown: "↓", arrowup: "↑" };

/** The caps of the first (or another) way to press a key: `["Ctrl", "↵"]`; a sequence has two groups. */
export function capsOf(id: KeyId, way = 0): string[][] {
  const key = keys.find((k) => k.id === id) as Key | undefined;
  const written = key?.keys[way];
  if (!written) return [];
  return written.split(" ").map((part) => {
    const names = part === "mod++" ? ["mod", "+"] : part.split("+");
    return names.map((name) => signs[name.toLowerCase()] ?? w.keyCap[name.toLowerCase()] ?? (name.length === 1 ? name.toUpperCase() : name));
  });
}

/** A name with the key that does it, for a control that shows none: "Next request, J". */
export function withKey(label: string, id: KeyId): string {
  return `${label}${w.comma}${spokenKey(id)}`;
}

export function spokenKey(id: KeyId): string {
  return capsOf(id).map((part) => part.join("+")).join(" ");
}

export type Press = {
  key: string;
  code?: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
  repeat?: boolean;
  isComposing?: boolean;
  keyCode?: number;
};

export type Target = { text: boolean; draft: boolean };

const letters = /^[\p{L}]$/u;

/** The written form of one press: `mod+shift+e`, `j`, `?`. Shift is left out where it only makes the character. */
export function written(press: Press): string {
  if (press.altKey) return "";
  const mod = press.ctrlKey || press.metaKey;
  let name = press.key;
  // A layout of another script has no Latin letters: there the key is meant by its place, as its cap shows beside its own.
  if (letters.test(name) && !/^\p{Script=Latin}$/u.test(name)) name = /^Key([A-Z])$/.exec(press.code ?? "")?.[1] ?? name;
  if (letters.test(name)) name = name.toLowerCase();
  const shift = press.shiftKey && (mod ? /^[a-z]$|^Enter$/.test(name) : name.length > 1 || letters.test(name));
  return `${mod ? "mod+" : ""}${shift ? "shift+" : ""}${name}`;
}

export const SEQUENCE_MILLIS = 1200;

/** Turns presses into commands. Holds nothing but the first half of a sequence. */
export class KeyReader {
  #first = "";
  #at = 0;
  singles = true;

  read(press: Press, target: Target, places: ReadonlySet<Place>, now: number): KeyId | null {
    if (press.isComposing || press.keyCode === 229) return null;
    const single = written(press);
    if (!single) return null;
    const sequence = this.#first && now - this.#at < SEQUENCE_MILLIS && !target.text ? `${this.#first} ${single}` : "";
    this.#first = "";
    for (const wanted of sequence ? [sequence, single] : [single]) {
      for (const key of keys as readonly Key[]) {
        if (!key.keys.includes(wanted)) continue;
        if (!key.where.some((place) => place === "anywhere" || places.has(place))) continue;
        if (target.text && !key.typing) continue;
        if (target.text && key.draftOnly && !target.draft) continue;
        if (!this.singles && !wanted.includes("mod+") && !/^(shift\+)?(F6|Escape|Enter|Arrow.*)$/.test(wanted)) continue;
        if (key.once && !deliberate(press)) continue;
        return key.id as KeyId;
      }
    }
    if (single === "g" && !target.text && this.singles) {
      this.#first = "g";
      this.#at = now;
    }
    return null;
  }
}
