// What the counting views and the forms of an action show, and that each is reached and read by keyboard.

import assert from "node:assert/strict";
import { armed, state, tabTo, until } from "./hands.mjs";
import { press, tick } from "./screens.mjs";

const numbers = (page, selector) => page.$$eval(selector, (all) => all.map((one) => Number(one.textContent.replace(/\D+/g, "") || 0)));
const period = async (page, at) => {
  await page.click(".bar__end .filt >> nth=-1");
  await page.click(`[role=menuitemradio] >> nth=${at}`);
  await tick(page);
};

export const views = [
  ["r32_the_counts_of_history_add_up_to_its_rows_and_its_chart", { query: "?past", hash: "#/history" }, async (page) => {
    await page.waitForSelector(".over svg rect");
    await period(page, 2);
    await until("30 bars", async () => (await page.locator(".over svg .v-acc").count()) > 20);
    const [all, ...each] = await numbers(page, ".bar > .filt .num");
    assert.ok(all > 300 && each.length === 6, `${all} ${each}`);
    await page.click("[data-do=as-table]");
    const cells = await page.$$eval(".talt tbody tr", (rows) => rows.map((row) => [...row.querySelectorAll("td")].map((cell) => Number(cell.textContent))));
    assert.equal(cells.length, 30);
    const sums = [0, 1, 2, 3].map((i) => cells.reduce((sum, row) => sum + row[i], 0));
    const [accepted, unknown, refused, gaveUp, rejected, superseded] = each;
    assert.equal(sums[0], accepted);
    assert.equal(sums[1], refused + gaveUp);
    assert.equal(sums[3], rejected + superseded);
    assert.ok(sums[2] >= unknown, "closed unknowns are unknown too");
    const stats = await numbers(page, ".stat b");
    assert.deepEqual([stats[0], stats[2], stats[3]], [accepted, sums[1] + sums[3], 0]);
    // A state is chosen: as many rows as its figure says.
    await page.click(".bar > .filt >> nth=3");
    await until("the refused ones", async () => (await page.locator("tr[data-row]").count()) === refused);
    const states = await page.$$eval("tr[data-row] .st", (all) => all.map((one) => one.textContent.trim()));
    assert.ok(states.every((text) => text === "Refused"), String(states));
  }],
  ["r32_what_waits_for_a_decision_is_in_no_list_of_history", { query: "?past", hash: "#/history" }, async (page) => {
    await page.waitForSelector("tr[data-row]");
    await period(page, 1);
    await until("rows", async () => (await page.locator("tr[data-row]").count()) > 5);
    assert.equal(await page.locator("tr[data-row='A-2041']").count(), 0);
    await page.fill("[data-search]", "delivery date");
    await until("found all the same", async () => (await page.locator("tr[data-row='A-2041']").count()) === 1);
    assert.equal(await page.locator(".over").count(), 0, "counts of everything step back while something is searched for");
  }],
  ["r37_a_chart_is_one_stop_and_arrows_read_its_bars", { query: "?past", hash: "#/insights" }, async (page) => {
    await page.waitForSelector(".panel svg.chart");
    await tabTo(page, "[data-bars]");
    const said = () => page.textContent("[data-bars]:focus .bars__now");
    assert.match(await said(), /^Longer than a day: \d+$/);
    await press(page, "ArrowLeft");
    assert.match(await said(), /^4 to 24 hours: \d+$/);
    await press(page, "Home");
    assert.match(await said(), /^Under 5 minutes: \d+$/);
    const total = await page.textContent(".panel >> nth=0 >> figcaption p");
    const shown = (await numbers(page, ".panel >> nth=0 >> svg text.val")).reduce((a, b) => a + b, 0);
    assert.ok(total.includes(` ${shown} approvals.`), `${total} ${shown}`);
    await press(page, "g", "h");
    await page.waitForSelector("[data-table]");
    await press(page, "g", "i");
    await page.waitForSelector(".ins");
  }],
  ["r09_an_outcome_webhook_is_set_shown_once_and_removed_by_keyboard", { hash: "#/sources" }, async (page) => {
    await page.waitForSelector("[data-outcomes] .outlog");
    await tabTo(page, "[data-do=set-outcome]", 120);
    await press(page, "Enter");
    await page.waitForSelector("#out-url");
    await page.fill("#out-url", "ftp://nowhere.example/");
    await press(page, "Enter");
    await until("refused at the field", async () => /https/.test((await page.textContent("#out-url-h")) ?? ""));
    await page.fill("#out-url", "https://elsewhere.example/told");
    await press(page, "Enter");
    await page.waitForSelector(".once code");
    assert.match(await page.textContent(".once code"), /^whsec_/);
    await tabTo(page, "[data-do=kept]");
    await press(page, "Enter");
    assert.ok(!(await page.content()).includes("whsec_"), "shown once");
    assert.equal(await page.textContent(".outhook__u"), "https://elsewhere.example/told");
    await tabTo(page, "[data-do=remove-outcome]", 120);
    await press(page, "Enter");
    await tabTo(page, "[data-do=go]");
    await press(page, "Enter");
    await page.waitForSelector("text=It is told of nothing.");
  }],
  ["r12_every_form_of_an_action_is_on_a_key_and_decides_nothing", { hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    await press(page, "v");
    await page.waitForSelector("[data-raw=raw]");
    await until("the bytes", async () => /^Date: /.test((await page.textContent("[data-raw=raw]")) ?? ""));
    assert.match(await page.textContent(".dlg__s"), /would be written now/);
    await press(page, "ArrowRight");
    await page.waitForSelector("[data-raw=text]");
    assert.match(await page.textContent("[data-raw=text]"), /^Hello Marta/);
    await press(page, "Control+Enter");
    assert.equal(await state(page, "A-2041"), "prepared");
    await press(page, "Escape");
    await page.waitForSelector("dialog[open]", { state: "detached" });
    await armed(page);
    await press(page, "Control+Enter");
    await until("approved", async () => (await state(page, "A-2041")) === "approved");
    await press(page, "g", "o");
    await page.waitForSelector("[data-shown='A-2041']", { state: "attached" });
    await press(page, "v");
    await until("the stored bytes", async () => /bytes the approval covers/.test((await page.textContent(".dlg__s").catch(() => "")) ?? ""));
  }],
  ["r37_text_grows_to_twice_its_size_by_key_and_everything_with_it", {}, async (page) => {
    await armed(page);
    const zoom = () => page.evaluate(() => document.documentElement.dataset.zoom);
    for (let i = 0; i < 6; i++) await page.keyboard.press("Control+=");
    await until("zoomed", async () => (await zoom()) === "2");
    assert.equal(await page.evaluate(() => document.documentElement.style.fontSize), "16px");
    await page.keyboard.press("Control+-");
    await until("less", async () => (await zoom()) === "1.5");
    await page.keyboard.press("Control+-");
    await until("as text alone", async () => (await zoom()) === "1");
    assert.equal(await page.evaluate(() => document.documentElement.style.fontSize), "20px");
  }],
  ["r37_long_work_shows_that_it_runs_and_nobody_has_to_wait_for_it", { query: "?past&slow", hash: "#/history" }, async (page) => {
    const stop = async (words) => {
      await page.waitForSelector("[data-working]");
      assert.match(await page.textContent("[data-working]"), words);
      await tabTo(page, "[data-do=stop-waiting]", 160);
      await press(page, "Enter");
      await page.waitForSelector("[data-working]", { state: "detached" });
      await until("the focus is somewhere", () => page.evaluate(() => document.activeElement !== document.body));
    };
    await page.waitForSelector("tr[data-row]");
    await press(page, "Control+Shift+e");
    await stop(/Writing the export/);
    assert.equal(await page.locator("dialog[open]").count(), 0);
    await press(page, "/");
    await page.keyboard.type("slow");
    await stop(/Searching/);
    await page.fill("[data-search]", "fenwick");
    await until("another search is answered", async () => (await page.locator("tr[data-row]").count()) > 0 && (await page.locator("[data-working]").count()) === 0);
    await page.evaluate(() => (location.hash = "#/settings"));
    await page.waitForSelector("#s-file");
    await tabTo(page, "[data-do=backup]", 160);
    await press(page, "Enter");
    await stop(/Copying the ledger/);
    assert.match(await page.textContent("#s-file-says"), /may still be finished/, "nothing pretends that it was taken back");
    await page.evaluate(() => (location.hash = "#/destinations"));
    await page.waitForSelector("[data-do=test]");
    await tabTo(page, "[data-do=test]", 160);
    await press(page, "Enter");
    await stop(/Testing the connection/);
  }],
  ["r06_going_back_does_not_wait_for_a_connection_test", { query: "?slow", hash: "#/destinations" }, async (page) => {
    await page.click("[data-do=add]");
    await page.click("[data-kind=mailbox]");
    await page.fill("#m-from", "hello@brackenhall.example");
    await press(page, "Tab");
    await page.fill("#m-password", "secret");
    await press(page, "Enter");
    await press(page, "Enter");
    await page.waitForSelector("dialog ol [data-probe]");
    await page.click("dialog button:has-text('Back')");
    await page.waitForSelector("#m-smtp");
  }],
  ["r33_a_frozen_ledger_is_taken_over_by_keyboard_and_only_with_the_key", { query: "?frozen=copied&locked" }, async (page) => {
    await page.waitForSelector("[data-do=lift]");
    const take = async () => {
      await tabTo(page, "[data-do=lift]", 120);
      await press(page, "Enter");
      await page.waitForSelector("dialog[open]");
      assert.match(await page.evaluate(() => document.activeElement.textContent), /Keep it stopped/, "the safe one first");
      await tabTo(page, "[data-do=go]");
      await press(page, "Enter");
    };
    await take();
    await page.waitForSelector("dialog[open] input[type=password]");
    assert.equal(await page.locator("[data-do=lift]").count(), 1, "nothing was lifted without the key");
    await page.keyboard.type("right words");
    await press(page, "Enter");
    await page.waitForSelector("dialog[open]", { state: "detached" });
    await take();
    await page.waitForSelector("[data-do=lift]", { state: "detached" });
  }],
];
