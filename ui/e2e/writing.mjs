// Writing a draft: what is typed is what is saved, to the byte; the two parts of a formatted message; what is drawn around
// the words and never in them.

import assert from "node:assert/strict";
import { DRAFT, armed, draftText, rewrite, state, tabTo, until } from "./hands.mjs";
import { press, tick } from "./screens.mjs";

const payload = (page, id) => page.evaluate((x) => window.__fake.payload(x), id);
const redraft = (page, id, text, more = {}) => page.evaluate(([a, b, c]) => window.__fake.redraft(a, b, c), [id, text, more]);
const hash = (page) => page.getAttribute("[data-live-hash]", "data-live-hash");
const saved = async (page, id, check) => {
  await press(page, "Control+s");
  await until("saved", async () => check(await payload(page, id)));
  return payload(page, id);
};
/** The request open in the editor with another draft from its source. */
const open = async (page, text, more) => {
  await redraft(page, "A-2041", text, more);
  await armed(page);
  await press(page, "e");
  await page.waitForSelector(DRAFT);
};
/** What the page's policy refused of a mail, in its frame and while it was read: told in the console, and no fault. */
const refused = (page) => {
  page.problems = page.problems.filter((told) => !/violates the following Content Security Policy|Blocked script execution in 'about:srcdoc'/.test(told));
};
const at = { hash: "#/awaiting/A-2041" };
const both = { html: "<p>Hello <b>Marta</b>,</p>\n<ul><li>oak</li><li>ash</li></ul>\n<p>See <a href=\"https://brackenhall.example/oak\">our oak</a>.</p>" };
const bothText = "Hello Marta,\n\n* oak\n* ash\n\nSee our oak (https://brackenhall.example/oak).";

export const writing = [
  ["r13_lines_that_were_not_touched_keep_their_bytes", at, async (page) => {
    const text = "Hello,\r\n\r\nAc\u200bme takes 2  chairs.\tYes.\r\nLast";
    await open(page, text);
    assert.equal(await page.getAttribute(`${DRAFT} .unseen`, "aria-label").then((x) => /U\+200B/.test(x)), true, "what can't be seen is shown");
    await tabTo(page, DRAFT);
    await press(page, "Control+End");
    await page.keyboard.type(" line");
    await page.keyboard.press("Enter");
    await page.keyboard.type("End");
    const after = await saved(page, "A-2041", (p) => /End$/.test(p.text));
    assert.equal(after.text, `${text} line\r\nEnd`);
  }],
  ["r13_undo_brings_back_the_text_and_its_fingerprint", at, async (page) => {
    await open(page, "One.\n\nTwo.");
    const before = await hash(page);
    await tabTo(page, DRAFT);
    await press(page, "Control+End");
    await page.keyboard.type(" Three.");
    await until("another fingerprint", async () => (await hash(page)) !== before);
    await press(page, "Control+z");
    await until("as it was", async () => (await draftText(page)) === "One.\n\nTwo." && (await hash(page)) === before);
    await press(page, "Control+Shift+z");
    await until("again", async () => (await draftText(page)) === "One.\n\nTwo. Three." && (await hash(page)) !== before);
  }],
  ["r13_what_is_pasted_into_a_plain_text_is_plain", at, async (page) => {
    await open(page, "One.");
    await tabTo(page, DRAFT);
    await press(page, "Control+End", "Enter");
    await page.evaluate(() => {
      const data = new DataTransfer();
      data.setData("text/plain", "two\r\n\r\nthree");
      data.setData("text/html", "<h1 onclick='x()'>two</h1><img src='https://elsewhere.example/p.gif'><p>three</p>");
      document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    });
    assert.equal((await saved(page, "A-2041", (p) => /three/.test(p.text))).text, "One.\ntwo\n\nthree");
  }],
  ["r37_the_editor_has_the_spell_check_of_the_platform_a_name_and_a_role", at, async (page) => {
    await open(page, "こんにちは");
    const box = await page.$eval(DRAFT, (x) => ({ spellcheck: x.spellcheck, lang: x.lang, role: x.getAttribute("role"), name: x.getAttribute("aria-label"), many: x.getAttribute("aria-multiline"), editable: x.isContentEditable }));
    assert.deepEqual(box, { spellcheck: true, lang: "ja", role: "textbox", name: "Reply text", many: "true", editable: true });
  }],
  ["f19_what_an_input_method_composes_is_typed_once_and_its_enter_approves_nothing", at, async (page) => {
    await open(page, "Order 9 on Friday 3 May: ");
    await tabTo(page, DRAFT);
    await press(page, "Control+End");
    const ime = await page.context().newCDPSession(page);
    for (const text of ["に", "にほ", "にほん"]) await ime.send("Input.imeSetComposition", { text, selectionStart: text.length, selectionEnd: text.length });
    await page.evaluate(() => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, isComposing: true, keyCode: 229, bubbles: true, cancelable: true })));
    await ime.send("Input.insertText", { text: "日本" });
    await until("composed once", async () => (await draftText(page)) === "Order 9 on Friday 3 May: 日本");
    assert.equal(await state(page, "A-2041"), "prepared");
    assert.equal((await saved(page, "A-2041", (p) => /日本/.test(p.text))).text, "Order 9 on Friday 3 May: 日本");
  }],
  ["r13_a_formatted_part_is_edited_and_the_plain_part_follows", at, async (page) => {
    await open(page, bothText, both);
    await page.waitForSelector("[data-text=formatted] ul li");
    const before = await hash(page);
    await tabTo(page, DRAFT);
    await press(page, "Control+Home");
    await page.keyboard.press("End");
    await press(page, "Control+b");
    await page.keyboard.type(" at once");
    await until("another fingerprint", async () => (await hash(page)) !== before);
    await page.waitForSelector("text=The plain part says the same");
    const after = await saved(page, "A-2041", (p) => /at once/.test(p.text));
    assert.equal(after.text, bothText.replace("Marta,", "Marta, at once"), "paragraphs that were not touched keep their form");
    assert.equal(after.html, "<p>Hello <strong>Marta</strong>,<strong> at once</strong></p>\n<ul>\n<li>oak</li>\n<li>ash</li>\n</ul>\n<p>See <a href=\"https://brackenhall.example/oak\">our oak</a>.</p>");
  }],
  ["f14_a_formatted_part_that_was_changed_and_changed_back_has_its_own_bytes", at, async (page) => {
    await open(page, bothText, both);
    await page.waitForSelector("[data-text=formatted]");
    const before = await hash(page);
    await tabTo(page, DRAFT);
    await press(page, "Control+End");
    await page.keyboard.type("x");
    await until("another fingerprint", async () => (await hash(page)) !== before);
    await press(page, "Backspace");
    await until("as it came", async () => (await hash(page)) === before);
  }],
  ["r13_parts_that_say_different_things_are_told_and_made_the_same", at, async (page) => {
    await open(page, "Hello Marta, it costs 40 €.", { html: "<p>Hello Marta, it costs 45 €.</p>" });
    await page.waitForSelector("text=The two parts say different things");
    await tabTo(page, "[data-do=text-from-html]");
    await press(page, "Enter");
    await page.waitForSelector("text=The plain part says the same");
    assert.equal((await saved(page, "A-2041", (p) => /45/.test(p.text))).text, "Hello Marta, it costs 45 €.");
  }],
  ["r13_what_the_editor_could_not_keep_is_not_dropped_unasked", at, async (page) => {
    const html = "<table><tr><td style=\"color:red\">Hello Marta</td></tr></table><img src=\"https://elsewhere.example/p.gif\">";
    await open(page, "Hello Marta", { html });
    await page.waitForSelector("text=It has styles of its own, pictures, tables".replace(/styles.*/, ""));
    const told = await page.textContent(".framenote");
    for (const word of ["pictures", "tables", "styles of its own"]) assert.ok(told.includes(word), told);
    await tabTo(page, DRAFT);
    await press(page, "Control+End");
    await page.keyboard.type("!");
    assert.equal((await saved(page, "A-2041", (p) => /!$/.test(p.text))).html, html, "kept as it came");
    await armed(page);
    await press(page, "e");
    await tabTo(page, "[data-do=simplify]");
    await press(page, "Enter");
    await page.waitForSelector("[data-text=formatted]");
    assert.equal((await saved(page, "A-2041", (p) => p.html !== html)).html, "<p>Hello Marta</p>");
    refused(page);
  }],
  ["f35_a_hostile_formatted_part_runs_and_loads_nothing_in_the_editor", at, async (page) => {
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await open(page, "Hello", { html: "<p>Hello<script>window.ran=1</script><img src=x onerror='window.ran=1'><a href=\"javascript:window.ran=1\">x</a><iframe srcdoc='<script>parent.ran=1</script>'></iframe></p>" });
    await tabTo(page, "[data-do=simplify]");
    await press(page, "Enter");
    await page.waitForSelector("[data-text=formatted]");
    await tick(page);
    assert.equal(await page.evaluate(() => window.ran), undefined);
    assert.deepEqual(await page.$$eval(`${DRAFT} :is(script, img:not(.ProseMirror-separator), iframe, a)`, (all) => all.map((x) => x.outerHTML)), []);
    refused(page);
    assert.deepEqual(asked.filter((url) => !url.includes("/assets/") && !/mail\.css$|mark\.svg$/.test(url) && !url.startsWith("about:")), []);
  }],
  ["r13_a_link_is_set_by_keyboard_and_its_target_is_listed", at, async (page) => {
    await open(page, "See our oak.", { html: "<p>See our oak.</p>" });
    await page.waitForSelector("[data-text=formatted]");
    await tabTo(page, DRAFT);
    await press(page, "Control+Home");
    for (let i = 0; i < 3; i++) await page.keyboard.press("Shift+ArrowRight");
    await press(page, "Control+Shift+k");
    await page.waitForSelector("#link-href");
    await page.keyboard.type("javascript:alert(1)");
    await press(page, "Enter");
    await page.waitForSelector("#link-bad");
    await page.fill("#link-href", "brackenhall.example/oak");
    await press(page, "Enter");
    await page.waitForSelector("dialog[open]", { state: "detached" });
    await until("listed", async () => /https:\/\/brackenhall\.example\/oak/.test((await page.textContent(".links").catch(() => "")) ?? ""));
    const after = await saved(page, "A-2041", (p) => /href/.test(p.html));
    assert.equal(after.html, "<p><a href=\"https://brackenhall.example/oak\">See</a> our oak.</p>");
    assert.equal(after.text, "See (https://brackenhall.example/oak) our oak.");
  }],
  ["r13_changes_are_marked_while_they_are_written_and_each_is_put_back", at, async (page) => {
    await open(page, bothText, both);
    await page.waitForSelector("[data-text=formatted]");
    await press(page, "Control+d");
    await tabTo(page, DRAFT);
    await press(page, "Control+End");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.type(" table");
    await page.waitForSelector(`${DRAFT} ins`);
    assert.equal((await page.$$eval(`${DRAFT} ins`, (all) => all.map((x) => x.textContent).join(""))).trim(), "table");
    assert.match(await page.textContent(".changes h3"), /^1 change/);
    await page.click(".chg .ib");
    await until("put back", async () => (await page.locator(`${DRAFT} ins`).count()) === 0);
    assert.match(await page.textContent(".changes h3"), /^No changes/);
  }],
  ["r13_changes_are_shown_from_the_draft_and_from_the_version_before", at, async (page) => {
    await open(page, "One two and three.");
    await rewrite(page, "One two and four.");
    await saved(page, "A-2041", (p) => /four/.test(p.text));
    await armed(page);
    await press(page, "e");
    await rewrite(page, "One five and four.");
    await until("both", async () => /^2 changes from the AI/.test((await page.textContent(".changes h3")) ?? ""));
    await page.click("[data-do=from-version]");
    await until("one", async () => /^1 change from version 3/.test((await page.textContent(".changes h3")) ?? ""));
  }],
  ["r17_facts_that_differ_from_the_conversation_are_underlined_while_they_are_written", at, async (page) => {
    await open(page, "Order 4471 comes on Friday.");
    await tabTo(page, DRAFT);
    await press(page, "Control+End");
    await page.keyboard.type(" Order 4417 costs 99 €.");
    await until("both", async () => (await page.$$eval(`${DRAFT} .fact--new`, (all) => all.map((x) => x.textContent))).join() === "4417,99 €");
    assert.equal(await page.getAttribute(`${DRAFT} .fact--new`, "title").then((x) => /customer/.test(x)), true);
  }],
];
