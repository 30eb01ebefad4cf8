import { readFileSync, readdirSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { inCode, inMarkup, strays } from "./strays";

const root = resolve(import.meta.dirname, "../src");
const files = (folder: string): string[] => readdirSync(folder, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? files(join(folder, one.name)) : [join(folder, one.name)]));
const place = (path: string) => relative(root, path).replaceAll("\\", "/");
/** The catalogues themselves, the engine in memory that stands in for the real one, and what Rust has written. */
const outside = /^(words\/(en|de|ar)\/|backend\/fake|bindings\/)/;
const sources = files(root).filter((path) => /\.(ts|svelte)$/.test(path) && !outside.test(place(path)));

describe("words outside the catalogue", () => {
  it("r37_there_are_none_in_any_component_or_module", () => {
    expect(sources.length).toBeGreaterThan(90);
    const found = sources.flatMap((path) => strays(readFileSync(path, "utf8"), path).map((one) => `${place(path)}: ${one.text}`));
    expect(found).toEqual([]);
  }, 60_000);

  it("r37_a_planted_one_is_found_wherever_a_person_would_meet_it", () => {
    const texts = (found: { text: string }[]) => found.map((one) => one.text.trim());
    expect(texts(inMarkup("<p>{w.one} Please wait</p>"))).toEqual(["Please wait"]);
    expect(texts(inMarkup('<button aria-label="Send">{w.x}</button>'))).toEqual(["Send"]);
    expect(texts(inMarkup('<button title={busy ? "Wait a moment" : w.x}></button>'))).toEqual(["Wait a moment"]);
    expect(texts(inMarkup("<input placeholder={`Search ${n}`} />"))).toEqual(["Search"]);
    expect(texts(inMarkup('{#if a}<b>{b ?? "None"}</b>{:else}{#each c as d}<i>Empty</i>{/each}{/if}'))).toEqual(["None", "Empty"]);
    expect(texts(inMarkup('{a && "Only here"}'))).toEqual(["Only here"]);
    expect(texts(inMarkup('<Empty title="Nothing" says={w.x} icon="inbox" />'))).toEqual(["Nothing"]);
    expect(texts(inMarkup("<svg><text>Approval</text></svg>"))).toEqual(["Approval"]);
    expect(texts(inMarkup("{#snippet foot()}<b>Close</b>{/snippet}"))).toEqual(["Close"]);
    expect(texts(inCode('app.say("It is done.");'))).toEqual(["It is done."]);
    expect(texts(inCode('const item = { label: "Open", icon: "inbox" };'))).toEqual(["Open"]);
    expect(texts(inCode("problem = `Not ${name} here`;"))).toEqual(["Not"]);
    expect(texts(inCode('let message = ok ? "" : "Something broke";'))).toEqual(["Something broke"]);
    expect(texts(inCode("app.notify({ icon: 'x', text: `Reply to ${who}` });"))).toEqual(["Reply to"]);
  });

  it("r37_codes_classes_and_names_of_icons_are_no_words", () => {
    expect(inMarkup('<div class={["btn", a === "prepared" && "is-on"]} data-do="approve" role="group" dir="auto"><Icon name="inbox" />{w.effect[x] ?? y}</div>')).toEqual([]);
    expect(inMarkup("<time datetime={at}>{clock(at)} · {n}</time>")).toEqual([]);
    expect(inCode('const made = make("s-prepared", "ink", w.prepared); const kind = { kind: "added", text: run.text, name: "to" };')).toEqual([]);
  });
});
