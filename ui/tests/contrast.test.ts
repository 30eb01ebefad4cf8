import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";

const css = readFileSync(resolve(import.meta.dirname, "../src/styles/tokens.css"), "utf8");

function tokens(block: string): Record<string, string> {
  return Object.fromEntries([...block.matchAll(/--c-([\w-]+):\s*(#[0-9a-f]{6})\b/gi)].map((m) => [m[1], m[2]]));
}
const lightBlock = css.slice(css.indexOf(":root {"), css.indexOf(':root[data-theme="dark"]'));
const darkBlock = css.slice(css.indexOf(':root[data-theme="dark"]'), css.indexOf("/* When the user"));
const light = tokens(lightBlock);
const themes = { light, dark: { ...light, ...tokens(darkBlock) } };

function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
export function ratio(a: string, b: string): number {
  const [x, y] = [luminance(a), luminance(b)].sort((m, n) => n - m) as [number, number];
  return (x + 0.05) / (y + 0.05);
}

const surfaces = ["window", "list", "pane", "sunken", "raised", "selected", "hover", "hover-pane"];
const families = ["green", "amber", "plum", "brick", "teal", "grey"];

describe.each(Object.entries(themes))("contrast, %s", (_, c) => {
  const of = (name: string) => c[name] ?? expect.fail(`there is no token ${name}`);
  const text = (a: string, b: string) => expect(ratio(of(a), of(b)), `${a} on ${b}`).toBeGreaterThanOrEqual(4.5);
  const mark = (a: string, b: string) => expect(ratio(of(a), of(b)), `${a} on ${b}`).toBeGreaterThanOrEqual(3);

  it("r37_text_is_readable_on_every_surface", () => {
    for (const surface of surfaces) for (const ink of ["text", "text-2", "text-3", "ink-text"]) text(ink, surface);
    for (const soft of ["ink-soft", "amber-soft", "plum-soft"]) text("text-3", soft);
  });
  it("r37_each_family_is_readable_on_its_fill_and_on_a_selected_row", () => {
    for (const family of families) {
      text(family, `${family}-soft`);
      text(family, "selected");
      text(family, "pane");
      mark(`${family}-solid`, "pane");
      mark(`${family}-solid`, "selected");
    }
    text("ins", "ins-soft");
    text("del", "del-soft");
  });
  it("r37_buttons_borders_and_focus_can_be_seen", () => {
    text("on-ink", "ink");
    text("on-ink", "ink-hover");
    for (const surface of ["window", "raised", "pane", "field"]) mark("control", surface);
    for (const surface of surfaces) mark("focus", surface);
    mark("chart-acc", "pane");
  });
});
