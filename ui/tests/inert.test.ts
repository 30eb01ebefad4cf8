// @vitest-environment jsdom
import { expect, test } from "vitest";
import { inert } from "../src/lib/inert";

const hints = (html: string): number => new DOMParser().parseFromString(`<!doctype html><body>${html}`, "text/html").querySelectorAll("link, meta, base").length;

test("f35_no_hint_to_the_network_is_left_in_a_frame_however_it_is_hidden", () => {
  for (const html of [
    "<link rel=preconnect href=http://evil.example>",
    "<p>a</p><LINK REL=dns-prefetch HREF=//evil.example><meta http-equiv=refresh content='0;url=http://evil.example'><base href=//evil.example>",
    "</body><link rel=preconnect href=//evil.example>",
    "<svg><style><!--</style><link rel=preconnect href=//evil.example>",
    "<math><mtext><table><mglyph><style><!--</style><link rel=preconnect href=//evil.example>",
    "<noscript><link rel=preconnect href=//evil.example></noscript>",
    "<template><link rel=preconnect href=//evil.example></template>",
    "<form><math><mtext></form><form><mglyph><style></math><link rel=preconnect href=//evil.example>",
    "<textarea></textarea><link rel=preconnect href=//evil.example>",
    "<select><link rel=preconnect href=//evil.example></select>",
    "<li<link rel=preconnect href=//evil.example>",
  ]) {
    const clean = inert(html);
    expect(hints(clean), `${html} became ${clean}`).toBe(0);
  }
});

test("what_a_person_sees_stays", () => {
  const html = '<p>Hello <b>there</b>, <a href="https://shop.example/">the shop</a></p><table><tbody><tr><td>1</td></tr></tbody></table>';
  expect(inert(html)).toBe(html);
});
