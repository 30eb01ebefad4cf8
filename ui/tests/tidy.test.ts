import { readFileSync, readdirSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { en } from "../src/words/en";

const root = resolve(import.meta.dirname, "../src");

function files(folder = root): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? files(path) : [path];
  });
}
const read = (path: string) => readFileSync(path, "utf8");
const place = (path: string) => relative(root, path).replaceAll("\\", "/");
const sources = files().filter((path) => /\.(ts|svelte)$/.test(path) && !place(path).startsWith("bindings/"));

function imports(path: string): string[] {
  const found = [...read(path).matchAll(/(?:from\s+|import\()"([^"]+)"/g)].map((m) => m[1] as string);
  return found.map((name) => (name.startsWith(".") ? place(resolve(path, "..", name)) : name));
}

describe("who may import whom", () => {
  it("r37_only_backend_tauri_knows_tauri", () => {
    for (const path of sources) if (place(path) !== "backend/tauri.ts") expect(imports(path).filter((x) => x.startsWith("@tauri-apps")), place(path)).toEqual([]);
  });

  it("r37_a_screen_never_imports_a_screen", () => {
    for (const path of sources) {
      const here = place(path);
      if (!here.startsWith("screens/")) continue;
      const own = here.split("/").slice(0, 2).join("/");
      expect(imports(path).filter((x) => x.startsWith("screens/") && !x.startsWith(`${own}/`)), here).toEqual([]);
    }
  });

  it("r37_components_know_neither_backend_nor_state", () => {
    for (const path of sources) {
      const here = place(path);
      if (!here.startsWith("components/") && !here.startsWith("lib/")) continue;
      expect(imports(path).filter((x) => /^(backend|state|screens|overlays)(\/|$)/.test(x)), here).toEqual([]);
    }
  });

  it("r37_screens_reach_the_engine_only_through_the_interface", () => {
    for (const path of sources) {
      const here = place(path);
      if (/^(screens|overlays|state)\//.test(here)) expect(imports(path).filter((x) => /^backend\/(tauri|fake)/.test(x)), here).toEqual([]);
    }
  });
});

describe("the catalogue", () => {
  it("r37_every_entry_is_used", () => {
    const all = sources.filter((path) => !/^words\/(en|de|ar)\//.test(place(path))).map(read).join("\n");
    expect(Object.keys(en).filter((name) => !new RegExp(`\\b(w|language\\.catalogue)\\.${name}\\b`).test(all))).toEqual([]);
  });

  it("r37_words_that_are_never_used", () => {
    const text = files(join(root, "words/en")).map(read).join("\n");
    for (const never of [/\bOops\b/i, /\bRetry\b/i, /\bSuccess\b/i, /Guaranteed/i, /Exactly once/i, /Something went wrong/i, /Are you sure/i, /try again later/i, /Sent ✓/, /delivered successfully/i, /!["`]/]) expect(text).not.toMatch(never);
  });
});

describe("the window's policy", () => {
  it("f35_no_markup_carries_a_style_or_a_script", () => {
    for (const path of sources.filter((x) => x.endsWith(".svelte"))) {
      const body = read(path).replace(/<script[\s\S]*?<\/script>/g, "");
      expect(body, place(path)).not.toMatch(/\sstyle="/);
      expect(body, place(path)).not.toMatch(/<style[\s>]/);
      expect(body, place(path)).not.toMatch(/\{@html/);
    }
    expect(read(join(root, "styles/icons.svg"))).not.toMatch(/style=/);
    expect(read(resolve(root, "../index.html"))).not.toMatch(/<script(?![^>]*src=)/);
  });

  it("r37_no_file_is_longer_than_600_lines", () => {
    for (const path of files()) if (!place(path).startsWith("bindings/")) expect(read(path).split("\n").length, place(path)).toBeLessThanOrEqual(601);
  });
});
