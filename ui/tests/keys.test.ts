import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { KeyReader, SEQUENCE_MILLIS, type Key, type Place, capsOf, keys, labelOf, written } from "../src/keys";

const all = keys as readonly Key[];
const free = { text: false, draft: false };
const press = (key: string, more: Partial<Parameters<typeof written>[0]> = {}) => ({ key, ctrlKey: false, metaKey: false, shiftKey: false, altKey: false, ...more });
const places = (...names: Place[]) => new Set<Place>(names);

describe("the key table", () => {
  it("r37_no_two_commands_share_a_key_in_one_place", () => {
    const taken = new Map<string, string>();
    for (const key of all)
      for (const where of key.where)
        for (const way of key.keys) {
          const name = `${where} ${way}`;
          expect(taken.get(name), `${name}: ${key.id}`).toBeUndefined();
          taken.set(name, key.id);
          if (where !== "anywhere") expect(taken.get(`anywhere ${way}`), `${way} is taken everywhere`).toBeUndefined();
        }
  });

  it("r37_places_that_are_on_screen_together_do_not_clash", () => {
    const together: Place[][] = [["list", "review", "held"], ["list", "unknown", "held"], ["list", "review", "record"], ["record", "held"], ["list", "history", "held"], ["edit", "held"]];
    for (const group of together) {
      const taken = new Map<string, string>();
      for (const key of all) {
        if (!key.where.some((place) => place === "anywhere" || group.includes(place))) continue;
        for (const way of key.keys) {
          const other = taken.get(way);
          // One that never acts while somebody types may share a key with one that is for the draft's own text.
          if (other && key.typing && key.draftOnly && !all.find((one) => one.id === other)?.typing) continue;
          if (other) expect.fail(`${way} in ${group.join(", ")}: ${other} and ${key.id}`);
          taken.set(way, key.id);
        }
      }
    }
  });

  it("r37_every_command_has_a_label_and_caps", () => {
    for (const key of all) {
      expect(labelOf(key.id).length).toBeGreaterThan(2);
      for (let way = 0; way < key.keys.length; way++) expect(capsOf(key.id as never, way).flat().every((cap) => cap.length > 0)).toBe(true);
    }
    expect(capsOf("approve")).toEqual([["Ctrl", "↵"]]);
    expect(capsOf("goUnknown")).toEqual([["G"], ["U"]]);
  });

  it("r37_nothing_that_decides_is_on_a_bare_letter", () => {
    // X and P open a dialog; approving needs Ctrl.
    for (const id of ["approve", "approveAll", "approveVersion"]) {
      const key = all.find((k) => k.id === id) as Key;
      expect(key.keys.every((way) => way.startsWith("mod+"))).toBe(true);
      expect(key.once).toBe(true);
    }
  });
});

describe("reading keys", () => {
  it("f19_enter_inside_a_composition_gives_no_command", () => {
    const reader = new KeyReader();
    const enter = press("Enter", { ctrlKey: true });
    expect(reader.read({ ...enter, isComposing: true }, free, places("review"), 0)).toBeNull();
    expect(reader.read({ ...enter, keyCode: 229 }, free, places("review"), 0)).toBeNull();
    expect(reader.read(enter, free, places("review"), 0)).toBe("approve");
  });

  it("f18_a_held_key_gives_no_second_approval", () => {
    const reader = new KeyReader();
    expect(reader.read(press("Enter", { ctrlKey: true, repeat: true }), free, places("review"), 0)).toBeNull();
    expect(reader.read(press("j", { repeat: true }), free, places("list"), 0)).toBe("next");
  });

  it("r37_letters_do_nothing_while_somebody_types", () => {
    const reader = new KeyReader();
    const typing = { text: true, draft: true };
    for (const letter of ["j", "x", "e", "p", "z", "n"]) expect(reader.read(press(letter), typing, places("list", "review", "held", "unknown"), 0)).toBeNull();
    expect(reader.read(press("s", { ctrlKey: true }), typing, places("edit"), 0)).toBe("save");
  });

  it("r37_ctrl_enter_in_a_field_that_is_not_the_draft_does_nothing", () => {
    const reader = new KeyReader();
    const enter = press("Enter", { ctrlKey: true });
    expect(reader.read(enter, { text: true, draft: false }, places("edit"), 0)).toBeNull();
    expect(reader.read(enter, { text: true, draft: true }, places("edit"), 0)).toBe("approveVersion");
  });

  it("r37_a_key_is_valid_only_where_its_table_row_says", () => {
    const reader = new KeyReader();
    expect(reader.read(press("q"), free, places("review"), 0)).toBeNull();
    expect(reader.read(press("q"), free, places("unknown"), 0)).toBe("ask");
    expect(reader.read(press("Enter", { ctrlKey: true }), free, places("unknown", "list"), 0)).toBeNull();
  });

  it("r37_a_layout_of_another_script_is_read_by_place_and_a_latin_one_by_letter", () => {
    for (const key of ["\u0438", "\u0646", "\u05e0", "\u03b2"]) expect(written(press(key, { code: "KeyB", ctrlKey: true }))).toBe("mod+b");
    expect(written(press("\u0418", { code: "KeyE", shiftKey: true, ctrlKey: true }))).toBe("mod+shift+e");
    expect(written(press("z", { code: "KeyY" }))).toBe("z");
    expect(written(press("\u0444", { code: "Digit2" }))).toBe("\u0444");
  });

  it("r37_sequences_wait_and_then_forget", () => {
    const reader = new KeyReader();
    expect(reader.read(press("g"), free, places(), 0)).toBeNull();
    expect(reader.read(press("u"), free, places(), 100)).toBe("goUnknown");
    expect(reader.read(press("g"), free, places(), 200)).toBeNull();
    expect(reader.read(press("u"), free, places(), 201 + SEQUENCE_MILLIS)).toBeNull();
  });

  it("r37_single_letters_can_be_switched_off", () => {
    const reader = new KeyReader();
    reader.singles = false;
    expect(reader.read(press("x"), free, places("review"), 0)).toBeNull();
    expect(reader.read(press("g"), free, places(), 0)).toBeNull();
    expect(reader.read(press("a"), free, places(), 1)).toBeNull();
    expect(reader.read(press("Enter", { ctrlKey: true }), free, places("review"), 0)).toBe("approve");
    expect(reader.read(press("F6"), free, places(), 0)).toBe("nextArea");
  });
});

describe("one table", () => {
  const root = resolve(import.meta.dirname, "../src");
  const files = (folder: string): string[] => readdirSync(folder, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? files(join(folder, one.name)) : [join(folder, one.name)]));
  const code = files(root).filter((path) => /\.(ts|svelte)$/.test(path) && !/bindings|backend|words/.test(path));

  it("r37_every_key_of_the_table_does_something_on_the_screens_it_names", () => {
    const screens = code.filter((path) => /screens|App\.svelte/.test(path)).map((path) => readFileSync(path, "utf8"));
    // The two that go round the areas belong to the reader of keys itself.
    for (const key of all.filter((one) => !["nextArea", "previousArea"].includes(one.id)))
      expect(screens.some((text) => new RegExp(`^\\s*${key.id}: \\(`, "m").test(text)), key.id).toBe(true);
  });

  it("r37_no_screen_reads_letters_or_ctrl_keys_beside_the_table", () => {
    for (const path of code.filter((one) => !/keys\.ts$|keyboard\.svelte\.ts$/.test(one))) {
      const text = readFileSync(path, "utf8");
      expect(text.match(/\.key\s*===\s*"[^",]"/g) ?? [], path).toEqual([]);
      expect(/\b(e|event)\.code\b/.test(text), path).toBe(false);
    }
  });

  it("r37_help_and_palette_are_made_from_the_table", () => {
    const help = readFileSync(join(root, "overlays/keyboard-help/KeyboardHelp.svelte"), "utf8");
    const palette = readFileSync(join(root, "overlays/palette/Palette.svelte"), "utf8");
    expect(help).toMatch(/groups\.filter/);
    expect(help).toMatch(/\bkeys\b/);
    expect(palette).toMatch(/commands\(\)/);
    for (const key of all) for (const text of [help, palette]) expect(text.includes(`"${labelOf(key.id)}"`), key.id).toBe(false);
  });
});
