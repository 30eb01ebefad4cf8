// @vitest-environment jsdom
import { expect, test } from "vitest";
import { inert } from "../src/lib/inert";

const read = (html: string): Document => new DOMParser().parseFromString(`<!doctype html><body>${html}`, "text/html");

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
    expect(read(clean).querySelectorAll("link, meta, base").length, `${html} became ${clean}`).toBe(0);
  }
});

test("f35_nothing_in_a_frame_leads_anywhere", () => {
  const html =
    '<a href="https://evil.example/" target="_blank" ping="https://evil.example/p">x</a><map><area href="//evil.example"></map><form action="//evil.example"><button formaction="//evil.example">y</button><input type="image" formaction="//evil.example"></form><svg><a xlink:href="//evil.example" href="//evil.example"><text>z</text></a></svg>';
  const clean = inert(html);
  expect(clean).not.toContain("evil.example");
  expect(clean).not.toContain("_blank");
  expect(read(clean).body.textContent).toBe("xyz");
});

test("what_a_person_sees_stays", () => {
  const html = "<p>Hello <b>there</b>, <a>the shop</a></p><table><tbody><tr><td>1</td></tr></tbody></table>";
  expect(inert(html)).toBe(html);
});
