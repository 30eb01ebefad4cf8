// By key alone: every control of every screen is reached by Tab, and whatever a key does, the focus is on something that a
// person can go on from. Nothing here is clicked.

import assert from "node:assert/strict";
import { armed, focused, state, tabTo, until } from "./hands.mjs";
import { press, tick } from "./screens.mjs";

/** Controls that a pointer can use and Tab has not come by; those of a group that arrows walk count as one. */
const missed = (page) =>
  page.evaluate(() => {
    const layer = document.querySelector("dialog[open]") ?? document.body;
    const seen = window.__seen;
    const shown = (one) => one.getClientRects().length > 0 && getComputedStyle(one).visibility !== "hidden";
    return [...layer.querySelectorAll("a[href], button, input, select, textarea, summary, [contenteditable=true], [role=switch], [role=option], [role=tab], [role=menuitem], [role=menuitemradio]")]
      .filter((one) => shown(one) && !one.disabled && !one.closest("[inert], iframe"))
      .filter((one) => !one.closest("details:not([open])") || one.matches("summary"))
      .filter((one) => {
        if (seen.has(one)) return false;
        // Rows that are drawn while one scrolls: the first ones stand for them.
        if (one.closest("tr[data-row]")) return ![...seen].some((other) => other?.closest?.("tr[data-row]"));
        // A file chooser stands behind its own button.
        if (one.matches("[type=file]")) return !layer.querySelector("[data-do=attach]");
        // One stop for a group whose members the arrows walk.
        const group = one.closest("[role=listbox], [role=tablist], [role=menu], [role=radiogroup], [role=toolbar]");
        if (group && (!group.matches("[role=toolbar]") || one.tabIndex < 0)) return ![...seen].some((other) => other?.nodeType === 1 && group.contains(other) || other?.getAttribute?.("aria-controls") === group.id);
        if (one.matches("[type=radio]")) return ![...seen].some((other) => other?.name === one.name);
        return true;
      })
      .map((one) => one.outerHTML.replace(/<svg.*?<\/svg>/gs, "").slice(0, 140));
  });

/** What Tab does not come to on the screen as it is, once round; and where it came to nothing twice running. */
export const unreached = async (page) => {
  await page.evaluate(() => {
    // From the top, so that a long table comes last.
    const layer = document.querySelector("dialog[open]") ?? document;
    window.__seen = new Set();
    document.addEventListener("focusin", (event) => window.__seen.add(event.target), true);
    layer.querySelector(".skip, button, a[href], input")?.focus();
  });
  const faults = [];
  // Once round, and a few more in which nothing new comes; a long table is known by its first rows.
  for (let i = 0, still = 0, before = 0, nothing = 0; i < 160 && still < 8; i++) {
    await page.keyboard.press("Tab");
    const [size, body] = await page.evaluate(() => [window.__seen.size, document.activeElement === document.body]);
    nothing = body ? nothing + 1 : 0;
    if (nothing > 1) faults.push("Tab stays on nothing");
    still = size === before ? still + 1 : 0;
    before = size;
  }
  return [...new Set(faults), ...(await missed(page))].slice(0, 5);
};

/** Every key of the table, read from the help, which is made from it: its presses as a keyboard has them. */
const table = async (page) => {
  await press(page, "?");
  await page.waitForSelector("dialog[open] dl");
  const rows = await page.$$eval("dialog[open] dl > div", (all) => all.map((row) => ({ label: row.querySelector("dt").textContent, ways: [...row.querySelectorAll("dd .keys")].map((keys) => [...keys.querySelectorAll("kbd")].map((cap) => cap.textContent)), then: row.querySelector("dd").textContent.includes(" then ") })));
  await press(page, "Escape");
  await page.waitForSelector("dialog[open]", { state: "detached" });
  const names = { Ctrl: "Control", Esc: "Escape", "↵": "Enter", "↓": "ArrowDown", "↑": "ArrowUp" };
  const chord = (caps) => caps.map((cap) => names[cap] ?? (cap.length === 1 ? cap.toLowerCase() : cap)).join("+");
  return rows.map(({ label, ways, then }) => ({ label, presses: then ? ways.map(chord) : [chord(ways[0])] }));
};
const at = ["#/awaiting/A-2041", "#/awaiting/A-2042", "#/edit/A-2041", "#/on-the-way", "#/unknown", "#/needs-review/A-2035", "#/history", "#/insights", "#/action/A-1986", "#/destinations", "#/sources", "#/settings"];

const somewhere = (page, what) => until(what, async () => !(await focused(page)).lost, 8_000);

export const focus = [
  ...at.map((hash) => [`r37_no_key_of_the_table_loses_the_focus_at_${hash.slice(2).replaceAll("/", "_")}`, { query: "?past&undo=60", hash }, async (page) => {
    await page.waitForSelector("[data-heading]");
    const keys = await table(page);
    assert.ok(keys.length > 40, `${keys.length} keys`);
    await press(page, "F6");
    await somewhere(page, "F6");
    for (const { label, presses } of keys) {
      if ((await page.evaluate(() => location.hash)) !== hash) {
        await page.evaluate((to) => (location.hash = to), hash);
        await tick(page);
        // By the keyboard again, as after a link.
        for (let i = 0; i < 3 && (await focused(page)).lost; i++) await press(page, "F6");
      }
      await press(page, ...presses);
      await somewhere(page, `after ${label} (${presses.join(" ")})`);
      for (let i = 0; i < 3 && (await page.locator("dialog[open]").count()); i++) {
        await press(page, "Escape");
        await somewhere(page, `after leaving ${label}`);
      }
      assert.equal(await page.locator("dialog[open]").count(), 0, `${label} is left by Escape`);
    }
  }]),
  ["r37_the_palette_offers_what_the_help_names_and_never_an_approval", { hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    const labels = new Set((await table(page)).map((key) => key.label));
    await press(page, "Control+k");
    await page.waitForSelector(".pal__o");
    const offered = await page.$$eval(".pal__o:has(kbd)", (all) => all.map((one) => one.querySelector(".pal__t").textContent));
    assert.ok(offered.length > 20, `${offered.length} commands`);
    assert.deepEqual(offered.filter((one) => !labels.has(one)), []);
    assert.deepEqual(offered.filter((one) => /^Approve/.test(one)), []);
  }],
  ["r37_the_focus_goes_on_after_a_removed_snippet_a_closed_dialog_and_a_shorter_list", { query: "?undo=60", hash: "#/settings" }, async (page) => {
    await page.waitForSelector("[data-snippet='Opening hours']");
    await tabTo(page, "[data-snippet='Opening hours'] .btn--quiet", 160);
    await press(page, "Enter");
    await page.waitForSelector("dialog[open]");
    await tabTo(page, "dialog [data-do=go]");
    await press(page, "Enter");
    await page.waitForSelector("[data-snippet='Opening hours']", { state: "detached" });
    await somewhere(page, "after the snippet was removed");
    await press(page, "g", "a");
    await page.waitForSelector("[data-shown]", { state: "attached" });
    await somewhere(page, "after another screen");
    await press(page, "Control+k");
    await page.waitForSelector("[role=combobox]");
    await press(page, "Escape");
    await somewhere(page, "after the palette");
    for (const id of ["A-2041", "A-2049"]) {
      await page.evaluate((to) => (location.hash = `#/awaiting/${to}`), id);
      await page.waitForSelector(`[data-shown=${id}]`, { state: "attached" });
      await armed(page);
      await press(page, "Control+Enter");
      await until("approved", async () => (await state(page, id)) === "approved");
      await somewhere(page, `after approving ${id}`);
    }
    await press(page, "z");
    await somewhere(page, "after undo");
    await page.evaluate(() => window.__fake.become("A-2044", "needs_review", "situation changed", "needs_review"));
    await tick(page);
    await somewhere(page, "after the list became shorter");
  }],
];
