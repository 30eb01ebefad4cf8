// A time of its own for a message (F39): set, changed, dropped by keyboard, asked about where the clocks change, approved
// for later, shown as what it is, and told on quitting.

import assert from "node:assert/strict";
import { DRAFT, armed, said, state, tabTo, until } from "./hands.mjs";
import { press } from "./screens.mjs";

const payload = (page, id) => page.evaluate((x) => window.__fake.payload(x), id);
const redraft = (page, id, text, more = {}) => page.evaluate(([a, b, c]) => window.__fake.redraft(a, b, c), [id, text, more]);
const at = { hash: "#/edit/A-2041" };
const says = (page) => page.textContent("#send-at-says");
const write = async (page, time) => {
  await tabTo(page, "[data-send-at]", 120);
  await press(page, "Control+a");
  await page.keyboard.type(time);
};
const saved = async (page, id, check) => {
  await press(page, "Control+s");
  await until("saved", async () => check(await payload(page, id)));
};
/** A wall time so many minutes from now, where the page's clock is. */
const soon = (page, minutes) => page.evaluate((more) => { const then = new Date(Date.now() + more * 60_000); const two = (n) => String(n).padStart(2, "0"); return `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())}T${two(then.getHours())}:${two(then.getMinutes())}`; }, minutes);

export const times = [
  ["f39_a_time_is_set_changed_and_dropped_by_keyboard", at, async (page) => {
    await page.waitForSelector(DRAFT);
    await tabTo(page, "[data-do=send-at]", 120);
    await press(page, "Enter");
    await until("the field has the focus", () => page.evaluate(() => document.activeElement?.hasAttribute("data-send-at")));
    assert.match(await says(page), /UTC/, "the same moment in UTC beside it");
    await write(page, "2027-03-29 09:15");
    assert.match(await says(page), /2027-03-29 07:15/);
    await saved(page, "A-2041", (p) => p.send_at?.local === "2027-03-29T09:15");
    assert.deepEqual((await payload(page, "A-2041")).send_at, { local: "2027-03-29T09:15", zone: "Europe/Berlin" });
    await page.waitForSelector("[data-goes]");
    assert.match(await page.textContent("[data-goes]"), /29 Mar 2027.*09:15.*Europe\/Berlin.*2027-03-29 07:15/s);
    await armed(page);
    assert.match(await page.textContent("[data-do=approve]"), /Approve for later/);
    await press(page, "e");
    await page.waitForSelector("[data-send-at]");
    await tabTo(page, "[data-send-zone]", 120);
    await page.keyboard.type("Asia/Tokyo");
    await until("another zone", async () => /2027-03-29 00:15/.test(await says(page)));
    await tabTo(page, "[data-do=send-at-drop]", 20);
    await press(page, "Enter");
    await until("the focus is where one is set", () => page.evaluate(() => document.activeElement?.matches("[data-do=send-at]")));
    assert.match(await page.textContent(".changes"), /No changes/);
    await saved(page, "A-2041", (p) => !("send_at" in p));
  }],
  ["f39_a_time_that_does_not_exist_holds_the_approval_and_is_never_moved", at, async (page) => {
    await page.waitForSelector(DRAFT);
    await tabTo(page, "[data-do=send-at]", 120);
    await press(page, "Enter");
    await write(page, "2027-03-28 02:30");
    assert.match(await says(page), /doesn’t exist in Europe\/Berlin/);
    await armed(page);
    await press(page, "Control+Enter", "Control+s");
    assert.equal(await state(page, "A-2041"), "prepared");
    assert.equal("send_at" in (await payload(page, "A-2041")), false);
    await write(page, "soon");
    assert.match(await says(page), /A time is needed/);
    await write(page, "2027-10-31 02:30");
    assert.match(await says(page), /twice/);
    await tabTo(page, "[data-send-which]", 20);
    await page.keyboard.type("The second");
    await until("told which", async () => /2027-10-31 01:30/.test(await says(page)));
    await saved(page, "A-2041", (p) => p.send_at?.offset === "+01:00");
  }],
  ["f39_what_is_typed_as_a_time_survives_leaving", at, async (page) => {
    await page.waitForSelector(DRAFT);
    await tabTo(page, "[data-do=send-at]", 120);
    await press(page, "Enter");
    await write(page, "2027-03-29 09:15");
    await until("kept", async () => /2027-03-29T09:15/.test((await page.evaluate(() => window.__fake.kept("A-2041"))) ?? ""));
    await press(page, "Escape");
    await page.waitForSelector("[data-do=edit]");
    await armed(page);
    await press(page, "e");
    await page.waitForSelector("[data-send-at]");
    assert.equal(await page.inputValue("[data-send-at]"), "2027-03-29 09:15");
  }],
  ["f39_approved_for_later_is_said_shown_as_such_and_put_back_by_key", { hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    await redraft(page, "A-2041", "Hello Marta, later.", { send_at: { local: await soon(page, 30), zone: "Europe/Berlin" } });
    await page.waitForSelector("[data-goes]");
    await armed(page);
    await press(page, "Control+Enter");
    await until("approved", async () => (await state(page, "A-2041")) === "approved");
    await until("said", async () => /Approved for later: .*Nothing has left yet/.test((await said(page, "polite")) ?? ""));
    assert.equal(await page.locator("[data-toast]").count(), 0, "no countdown of half an hour");
    await press(page, "g", "o");
    await page.waitForSelector("[role=option][data-id=A-2041]");
    const row = await page.textContent("[role=option][data-id=A-2041]");
    assert.match(row, /Approved for later/);
    assert.doesNotMatch(row, /Held/);
    await page.evaluate(() => (location.hash = "#/on-the-way/A-2041"));
    await page.waitForSelector("[data-shown=A-2041]", { state: "attached" });
    assert.match(await page.textContent("main h2"), /Approved for later/);
    assert.equal(await page.locator(".count, [data-do=send-now]").count(), 0);
    await press(page, "z");
    await until("put back", async () => (await state(page, "A-2041")) === "prepared");
  }],
  ["f38_quitting_says_what_waits_for_a_time_of_its_own", { query: "?undo=60", hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    await redraft(page, "A-2041", "Hello Marta, later.", { send_at: { local: await soon(page, 24 * 60), zone: "Europe/Berlin" } });
    await page.waitForSelector("[data-goes]");
    await armed(page);
    await press(page, "Control+Enter");
    await until("approved", async () => (await state(page, "A-2041")) === "approved");
    await page.evaluate(() => (location.hash = "#/awaiting/A-2049"));
    await page.waitForSelector("[data-shown=A-2049]", { state: "attached" });
    await armed(page);
    await press(page, "Control+Enter");
    await until("held", async () => (await state(page, "A-2049")) === "approved");
    await page.evaluate(() => window.__fake.quit());
    await page.waitForSelector("dialog[open]");
    assert.match(await page.textContent("dialog[open] h2"), /^1 approved action/);
    assert.match(await page.textContent("dialog[open] .dlg__s"), /1 approved action has a time of its own\. It goes then if Countersign is open\. More than a quarter of an hour late it waits for you\./);
  }],
];
