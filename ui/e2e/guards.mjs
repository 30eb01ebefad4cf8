// What stands between a person and something they did not see or did not mean: the versions that come while they write,
// the time before a bar arms, keys that are held or belong to an input method.

import assert from "node:assert/strict";
import { DRAFT, approvals, armed, atOnce, draftText, key, listFocus, state, tabTo, until } from "./hands.mjs";
import { press, tick } from "./screens.mjs";

const payload = (page, id) => page.evaluate((x) => window.__fake.payload(x), id);
const unseen = { html: "<p>Pay to the new account.</p>", reply_to: [{ email: "else@where.example" }] };
const redraft = (page, id, text, more = {}) => page.evaluate(([a, b, c]) => window.__fake.redraft(a, b, c), [id, text, more]);
const type = async (page, words) => {
  await page.waitForSelector(DRAFT);
  await tabTo(page, DRAFT);
  await page.keyboard.press("Control+End");
  await page.keyboard.type(words);
};
const bundle = { hash: "#/awaiting/A-2043" };
/** The request with a reply and a note, every check of it made. */
const ready = async (page) => {
  await page.waitForSelector(".strip");
  const ids = await page.evaluate(() => window.__fake.bundle("A-2043"));
  for (const [id, code, field] of await page.evaluate((x) => window.__fake.checks(x), ids)) await page.evaluate((x) => window.__fake.clear(...x), [id, code, field]);
  await page.waitForSelector("[data-do=approve-all][aria-disabled=false]");
  await armed(page);
  return ids;
};
const none = async (page, ids) => {
  await tick(page);
  for (const id of ids) assert.equal(await state(page, id), "prepared", id);
};

export const guards = [
  ["f16_what_a_newer_version_brings_unseen_is_not_in_what_is_saved", { hash: "#/edit/A-2041" }, async (page) => {
    await type(page, " P.S. Ring twice.");
    await redraft(page, "A-2041", "A newer draft.", unseen);
    await page.waitForSelector("[data-newer]");
    const told = await page.textContent("[data-newer] dl");
    for (const words of ["Formatted part", "Pay to the new account.", "Reply to", "else@where.example", "newer"]) assert.ok(told.includes(words), words);
    await armed(page);
    await press(page, "Control+Enter", "Control+s");
    assert.equal(await state(page, "A-2041"), "prepared", "nothing is decided before one was chosen");
    assert.match((await payload(page, "A-2041")).text, /^A newer draft/);
    await tabTo(page, "[data-do=keep-mine]");
    await press(page, "Enter");
    await until("the focus is in the text", () => page.evaluate((text) => document.querySelector(text)?.contains(document.activeElement), DRAFT));
    await page.waitForSelector("[data-newer]", { state: "detached" });
    await press(page, "Control+s");
    await until("saved", async () => /Ring twice/.test((await payload(page, "A-2041")).text));
    const saved = await payload(page, "A-2041");
    assert.equal(saved.html ?? null, null);
    assert.equal((saved.reply_to ?? []).length, 0);
  }],
  ["f16_the_newer_version_can_be_taken_as_it_came", { hash: "#/edit/A-2041" }, async (page) => {
    await type(page, " P.S. Ring twice.");
    await redraft(page, "A-2041", "A newer draft.", unseen);
    await page.waitForSelector("[data-newer]");
    await tabTo(page, "[data-do=take-newer]");
    await press(page, "Enter");
    await until("the focus is in the text", () => page.evaluate((text) => document.querySelector(text)?.contains(document.activeElement), DRAFT));
    await page.waitForSelector("[data-newer]", { state: "detached" });
    assert.equal(await draftText(page), "Pay to the new account.");
    await page.click("[data-part=plain]");
    await page.waitForSelector("[data-text=plain]");
    assert.equal(await draftText(page), "A newer draft.");
    assert.match(await page.textContent("#draft"), /else@where\.example/, "where answers go is on screen");
    assert.equal(await page.evaluate(() => window.__fake.kept("A-2041")), null);
  }],
  ["f16_text_that_was_left_comes_back_on_the_version_it_was_written_on", { hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    await press(page, "e");
    await type(page, " P.S. Ring twice.");
    await press(page, "Escape");
    await page.waitForSelector("[data-do=edit]");
    await redraft(page, "A-2041", "A newer draft.", unseen);
    await armed(page);
    await press(page, "e");
    await page.waitForSelector("[data-newer]");
    assert.match(await draftText(page), /Ring twice/);
    await tabTo(page, "[data-do=keep-mine]");
    await press(page, "Enter");
    await press(page, "Control+s");
    await until("saved", async () => /Ring twice/.test((await payload(page, "A-2041")).text));
    assert.equal((await payload(page, "A-2041")).html ?? null, null);
  }],
  ["f16_a_revision_is_written_on_what_was_on_screen_too", { hash: "#/action/A-1986" }, async (page) => {
    await page.waitForSelector("[data-do=revise]");
    await press(page, "n");
    await page.waitForSelector(DRAFT);
    const id = await page.getAttribute("[data-shown]", "data-shown");
    await type(page, " One correction.");
    await redraft(page, id, "A newer draft.", unseen);
    await page.waitForSelector("[data-newer]");
    await tabTo(page, "[data-do=keep-mine]");
    await press(page, "Enter");
    await press(page, "Control+s");
    await until("saved", async () => /One correction/.test((await payload(page, id)).text));
    assert.equal((await payload(page, id)).html ?? null, null);
  }],
  ["r13_a_formatted_part_that_no_longer_fits_the_text_can_be_left_out", { hash: "#/awaiting/A-2041" }, async (page) => {
    await redraft(page, "A-2041", "Short text.", { html: "<p>Short text.</p>" });
    await page.waitForSelector("iframe");
    await armed(page);
    await press(page, "e");
    await page.click("[data-part=plain]");
    await type(page, " Another word.");
    await page.waitForSelector("text=The two parts say different things");
    await tabTo(page, "[data-do=html-out]");
    await press(page, "Enter");
    await until("the focus is in the text", () => page.evaluate((text) => document.querySelector(text)?.contains(document.activeElement), DRAFT));
    await press(page, "Control+s");
    await until("saved", async () => /Another word/.test((await payload(page, "A-2041")).text));
    assert.equal("html" in (await payload(page, "A-2041")), false);
  }],
  ["f18_a_window_that_comes_back_to_the_front_has_to_be_read_first", { hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    await page.evaluate(() => {
      window.dispatchEvent(new Event("blur"));
      window.dispatchEvent(new Event("focus"));
      document.querySelector("[data-do=approve]").click();
    });
    await none(page, ["A-2041"]);
    assert.equal(await page.getAttribute("[data-region=approval]", "data-armed"), "false");
    await armed(page);
    await press(page, "Control+Enter");
    await until("approved", async () => (await state(page, "A-2041")) === "approved");
  }],
  ["f18_send_now_waits_as_long_as_approving_does", { query: "?undo=60", hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    await press(page, "Control+Enter");
    await page.waitForSelector("[data-toast]");
    // The same place on screen that was pressed to approve: the second half of a double press must not end the time to undo.
    const early = await atOnce(page, () => document.querySelector("[role=option]").click(), "[data-do=send-now]", () => {
      const button = document.querySelector("[data-do=send-now]");
      const was = button.getAttribute("aria-disabled");
      button.click();
      return was;
    });
    await tick(page);
    assert.equal(early, "true");
    assert.equal(await state(page, "A-2041"), "approved");
    assert.ok(await page.locator("[data-do=send-now]").count(), "still held");
    await page.waitForSelector("[data-do=send-now][aria-disabled=false]");
    await page.click("[data-do=send-now]");
    await until("handed over", async () => ["in_progress", "accepted"].includes(await state(page, "A-2041")));
  }],
  ["f18_send_now_in_on_the_way_waits_as_long_too", { query: "?undo=60", hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    await press(page, "Control+Enter");
    await until("approved", async () => (await state(page, "A-2041")) === "approved");
    const early = await atOnce(page, () => void (location.hash = "#/on-the-way/A-2041"), ".act [data-do=send-now]", () => {
      const button = document.querySelector(".act [data-do=send-now]");
      const was = button.getAttribute("aria-disabled");
      button.click();
      return was;
    });
    await tick(page);
    assert.equal(early, "true");
    assert.equal(await state(page, "A-2041"), "approved");
    await page.waitForSelector(".act [data-do=send-now][aria-disabled=false]");
    await page.click(".act [data-do=send-now]");
    await until("handed over", async () => ["in_progress", "accepted"].includes(await state(page, "A-2041")));
  }],
  ["f18_approving_all_waits_for_every_document_of_the_request", bundle, async (page) => {
    const ids = await ready(page);
    const other = ids.find((id) => id !== "A-2043");
    await atOnce(page, `() => void window.__fake.redraft(${JSON.stringify(other)}, "Other words, not in the focus.")`, "[data-armed=false]", () => {
      window.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, shiftKey: true, bubbles: true }));
      document.querySelector("[data-do=approve-all]").click();
    });
    await none(page, ids);
    await armed(page);
    await press(page, "Control+Shift+Enter");
    for (const id of ids) await until(`${id} approved`, async () => (await state(page, id)) === "approved");
  }],
  ["f18_a_key_that_is_held_down_never_approves_all", bundle, async (page) => {
    const ids = await ready(page);
    for (const name of ["Control", "Shift"]) await page.keyboard.down(name);
    await atOnce(page, `() => void window.__fake.redraft(${JSON.stringify(ids.find((id) => id !== "A-2043"))}, "Other words.")`, "[data-armed=false]", () => true);
    await page.keyboard.down("Enter");
    await armed(page);
    // Chromium marks every further press without a release as a repeat.
    for (let i = 0; i < 5; i++) await page.keyboard.down("Enter");
    for (const name of ["Enter", "Shift", "Control"]) await page.keyboard.up(name);
    await none(page, ids);
  }],
  ["f18_a_held_enter_on_the_button_itself_never_approves", bundle, async (page) => {
    const ids = await ready(page);
    for (const button of ["approve-all", "approve"]) {
      await redraft(page, "A-2043", `Words ${button}.`);
      await page.waitForSelector("[data-armed=false]");
      await page.focus(`[data-do=${button}]`);
      await page.keyboard.down("Enter");
      await armed(page);
      for (let i = 0; i < 5; i++) await page.keyboard.down("Enter");
      await page.keyboard.up("Enter");
      await none(page, ids);
    }
  }],
  ["f19_a_composition_never_approves_all", bundle, async (page) => {
    const ids = await ready(page);
    await listFocus(page);
    await key(page, { key: "Enter", ctrlKey: true, shiftKey: true, isComposing: true });
    await key(page, { key: "Enter", ctrlKey: true, shiftKey: true, keyCode: 229 });
    await none(page, ids);
    for (const id of ids) assert.equal(await approvals(page, id), 0);
  }],
  ...["resend", "mailbox"].map((kind) => [`r06_a_hold_that_could_not_be_read_is_said_when_adding_a_${kind}`, { query: "?noprefs", hash: "#/destinations" }, async (page) => {
    await page.click("[data-do=add]");
    await page.click(`[data-kind=${kind}]`);
    if (kind === "mailbox") {
      await page.fill("#m-from", "hello@brackenhall.example");
      await press(page, "Tab");
      await page.fill("#m-password", "secret");
      await press(page, "Enter");
    }
    assert.match(await page.textContent("[data-hold-problem]"), /could not be read, so 10 seconds/);
  }]),
];
