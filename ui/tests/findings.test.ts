import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ar } from "../src/words/ar";
import { de } from "../src/words/de";
import { en } from "../src/words/en";

const root = new URL("../../src-tauri/", import.meta.url);

/** Every code that the Rust side gives a finding, from the places where findings are made. */
function codes(): string[] {
  const files = ["domain/src/", "engine/src/"].flatMap((folder) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".rs") && !/tests?\.rs$/.test(name)).map((name) => readFileSync(new URL(folder + name, root), "utf8")),
  );
  const made = /Finding::new\(\s*"([a-z_]+)"|\bfinding\(\s*"([a-z_]+)"|Finding \{[^}]*?code: "([a-z_]+)"/g;
  return [...new Set(files.flatMap((text) => [...text.matchAll(made)].map((found) => found[1] ?? found[2] ?? found[3] ?? "")))].sort();
}

describe("what the checks find", () => {
  it("r37_each_has_a_name_in_every_language_of_the_window", () => {
    const all = codes();
    expect(all.length).toBeGreaterThan(25);
    for (const [tag, words] of Object.entries({ en, de, ar })) expect(all.filter((code) => !(code in words.finding)), tag).toEqual([]);
  });
});
