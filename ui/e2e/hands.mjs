// What the ways through the window have in common: reading the engine in memory, the focus, what was said.

import assert from "node:assert/strict";
import { DRAFT, draftText, press, rewrite } from "./screens.mjs";

export { DRAFT, draftText, rewrite };

export const state = (page, id) => page.evaluate((x) => window.__fake.state(x), id);
export const approvals = (page, id) => page.evaluate((x) => window.__fake.approvals(x), id);
export const focused = (page) => page.evaluate(() => ({ heading: document.activeElement?.hasAttribute("data-heading") ?? false, text: document.activeElement?.textContent?.trim() ?? "", tag: document.activeElement?.tagName ?? "", lost: document.activeElement === document.body }));
export const said = (page, where) => page.textContent(`[data-${where}]`);
/** Long enough for a machine that has other work: a check that waits longer finds nothing new. */
const PATIENCE = 30_000;
export const until = async (what, check, ms = PATIENCE) => {
  const end = Date.now() + ms;
  for (;;) {
    if (await check()) return;
    assert.ok(Date.now() < end, `not seen in time: ${what}`);
    await new Promise((done) => setTimeout(done, 30));
  }
};
export const armed = (page) => page.waitForSelector("[data-armed=true]");
export const listFocus = async (page) => {
  for (let i = 0; i < 12; i++) {
    if (await page.evaluate(() => document.activeElement?.getAttribute("role") === "listbox")) return;
    await press(page, "F6");
  }
  assert.fail("F6 never reached the list");
};
/** Tab until the wanted element has the focus. */
export const tabTo = async (page, selector, most = 60) => {
  for (let i = 0; i < most; i++) {
    if (await page.evaluate((s) => document.activeElement?.matches(s) ?? false, selector)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab never reached ${selector}`);
};

/**
 * Runs `act` in the page in the same moment in which `selector` is there for the first time, so that no slow machine turns
 * "too early" into "in time". `begin` is run in the page first.
 */
export const atOnce = (page, begin, selector, act) =>
  page.evaluate(`new Promise((done, failed) => {
    const end = performance.now() + 20_000;
    const look = () => {
      if (document.querySelector(${JSON.stringify(selector)})) return done((${act})());
      if (performance.now() > end) return failed(new Error("never seen: " + ${JSON.stringify(selector)}));
      requestAnimationFrame(look);
    };
    (${begin})();
    look();
  })`);

/** A key as the page sees it, with what a real keyboard cannot be made to say: repeat, composition. */
export const key = (page, more) => page.evaluate((x) => (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...x })), more);
