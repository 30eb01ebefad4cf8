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
/** What the page asked for and was not kept from: the browser also tells of a request that its policy stopped before it left. */
const leaving = (page) => {
  const asked = new Set();
  page.on("request", (request) => asked.add(request));
  page.on("requestfailed", (request) => request.failure()?.errorText === "csp" && asked.delete(request));
  return () => [...asked].map((request) => request.url());
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
    await until("the focus is in the text", () => page.evaluate((text) => document.querySelector(text)?.contains(document.activeElement), DRAFT));
    await page.waitForSelector("[data-text=formatted]");
    assert.equal((await saved(page, "A-2041", (p) => p.html !== html)).html, "<p>Hello Marta</p>");
    refused(page);
  }],
  ["f35_a_hostile_formatted_part_runs_and_loads_nothing_in_the_editor", at, async (page) => {
    const left = leaving(page);
    await open(page, "Hello", { html: "<p>Hello<script>window.ran=1</script><img src=x onerror='window.ran=1'><img src='https://elsewhere.example/p.gif'><a href=\"javascript:window.ran=1\">x</a><iframe srcdoc='<script>parent.ran=1</script>'></iframe></p>" });
    await until("the frame was read", () => page.problems.some((told) => /elsewhere\.example.*violates/.test(told)));
    await tabTo(page, "[data-do=simplify]");
    await press(page, "Enter");
    await page.waitForSelector("[data-text=formatted]");
    await tick(page);
    assert.equal(await page.evaluate(() => window.ran), undefined);
    assert.deepEqual(await page.$$eval(`${DRAFT} :is(script, img:not(.ProseMirror-separator), iframe, a)`, (all) => all.map((x) => x.outerHTML)), []);
    refused(page);
    assert.deepEqual(left().filter((url) => !url.includes("/assets/") && !/mail\.css$|mark\.svg$/.test(url) && !url.startsWith("about:")), []);
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
  ["r13_in_review_changes_are_shown_from_the_draft_and_from_the_version_before", at, async (page) => {
    await open(page, "One two and three.");
    for (const words of ["One two and four.", "One five and four."]) {
      await rewrite(page, words);
      await saved(page, "A-2041", (p) => p.text === words);
      await armed(page);
      if (words.includes("two")) {
        await press(page, "e");
        await page.waitForSelector(DRAFT);
      }
    }
    const marked = () => page.$$eval("#draft .body--pre :is(ins, del)", (all) => all.map((x) => x.textContent).join(" "));
    await press(page, "d");
    await until("from the draft", async () => (await marked()) === "two five three four");
    await press(page, "d");
    await until("from the version before", async () => (await marked()) === "two five");
    assert.match(await page.textContent(".colhead >> text=With changes from version"), /version 3/);
    await press(page, "d");
    await until("off", async () => (await marked()) === "");
  }],
  ["f28_what_cannot_be_seen_in_a_change_is_drawn_wherever_changes_are", at, async (page) => {
    await open(page, "One two and three.");
    await tabTo(page, DRAFT);
    await press(page, "Control+End");
    await page.keyboard.insertText(" Pay \u202e12\u200b3.");
    await until("in the list of changes", async () => (await page.locator(".changes ins .unseen").count()) === 2);
    await saved(page, "A-2041", (p) => /Pay/.test(p.text));
    await page.waitForSelector("[data-region=approval]");
    await press(page, "d");
    await until("in the review", async () => (await page.locator("#draft .body--pre ins .unseen").count()) === 2);
  }],
  ["r28_the_line_of_a_revision_is_the_customers_text_and_comes_out_again", { hash: "#/action/A-1986", language: "ar" }, async (page) => {
    await page.waitForSelector("[data-do=revise]");
    await press(page, "n");
    await page.waitForSelector(DRAFT);
    const before = await draftText(page);
    await page.click(".saysbox input");
    await until("put in", async () => (await draftText(page)) !== before);
    const line = (await draftText(page)).replace(before.slice(0, before.indexOf("\n")), "");
    assert.match(line, /20\d\d.*\d\d:\d\d/, "the date with its year, and the time");
    assert.doesNotMatch(line, /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/);
    await page.click(".saysbox input");
    await until("out again", async () => (await draftText(page)) === before);
  }],
  ["r17_facts_that_differ_from_the_conversation_are_underlined_while_they_are_written", at, async (page) => {
    await open(page, "Order 4471 comes on Friday.");
    await tabTo(page, DRAFT);
    await press(page, "Control+End");
    await page.keyboard.type(" Order 4417 costs 99 €.");
    await until("both", async () => (await page.$$eval(`${DRAFT} .fact--new`, (all) => all.map((x) => x.textContent))).join() === "4417,99 €");
    assert.equal(await page.getAttribute(`${DRAFT} .fact--new`, "title").then((x) => /customer/.test(x)), true);
  }],
  ["r13_a_snippet_is_put_in_by_keyboard_with_what_the_conversation_says", at, async (page) => {
    await open(page, "Hello,\n");
    await tabTo(page, DRAFT);
    await press(page, "Control+End", "Control+j");
    await page.waitForSelector("#snips");
    await page.keyboard.type("moved");
    await until("one", async () => (await page.locator("#snips [role=option]").count()) === 1);
    await press(page, "Enter");
    await page.waitForSelector("#fill");
    assert.deepEqual(await page.$$eval("#fill input", (all) => all.map((x) => x.value)), ["Marta Lindqvist", "4471", ""]);
    await until("the open field has the focus", () => page.evaluate(() => document.activeElement?.id === "fill-2"));
    await page.keyboard.type("soon");
    await press(page, "Enter");
    await page.waitForSelector("#fill-2-h");
    await page.fill("#fill-2", "21 May");
    await press(page, "Enter");
    await page.waitForSelector("dialog[open]", { state: "detached" });
    await until("put in", async () => /Dear Marta Lindqvist,\n\nyour order 4471 now comes on 21 May\./.test(await draftText(page)));
    assert.equal(await page.evaluate(() => document.activeElement?.hasAttribute("data-text")), true, "one writes on where it was put in");
    await page.keyboard.type(" Yours.");
    const after = await saved(page, "A-2041", (p) => /Yours\.$/.test(p.text));
    assert.match(after.text, /^Hello,\nDear Marta/);
  }],
  ["r17_a_place_that_was_not_filled_holds_the_approval_back", at, async (page) => {
    await open(page, "Hello,\n");
    await tabTo(page, DRAFT);
    await press(page, "Control+End", "Control+k");
    await page.waitForSelector("[role=combobox]");
    await page.keyboard.type("Snippet: Price");
    await press(page, "Enter");
    await page.waitForSelector("#fill");
    await tabTo(page, "[data-do=insert]");
    await press(page, "Enter");
    await page.waitForSelector(`${DRAFT} .unfilled`);
    await until("it holds", async () => /Still to be filled/.test((await page.textContent(".insp")) ?? ""));
    await armed(page).catch(() => undefined);
    await press(page, "Control+Enter");
    await tick(page);
    assert.equal(await state(page, "A-2041"), "prepared");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("Regluing costs 45 € a chair.");
    await until("nothing holds", async () => !/Still to be filled/.test((await page.textContent(".insp")) ?? ""));
    await armed(page);
    await press(page, "Control+Enter");
    await until("approved", async () => (await state(page, "A-2041")) === "approved");
  }],
  ["r13_snippets_are_added_changed_and_removed_by_keyboard", { hash: "#/settings" }, async (page) => {
    await page.waitForSelector("[data-do=add-snippet]");
    await tabTo(page, "[data-do=add-snippet]", 120);
    await press(page, "Enter");
    await page.waitForSelector("#snip-name");
    await page.keyboard.type("opening hours");
    await press(page, "Tab");
    await page.keyboard.type("Order {order} is ready, {first_name}.");
    assert.deepEqual(await page.$$eval(".in--kind", (all) => all.map((x) => x.value)), ["number", "text"]);
    await tabTo(page, "[data-do=save-snippet]");
    await press(page, "Enter");
    await page.waitForSelector("#snip-name-h");
    await page.fill("#snip-name", "Ready");
    await press(page, "Enter");
    await page.waitForSelector("[data-snippet=Ready]");
    await page.click("[data-snippet=Ready] .btn--quiet");
    await page.waitForSelector("dialog[open] [data-do=go]");
    await page.click("dialog[open] [data-do=go]");
    await page.waitForSelector("[data-snippet=Ready]", { state: "detached" });
  }],
  ["r12_the_pages_of_a_pdf_are_drawn_and_nothing_is_fetched", at, async (page) => {
    await armed(page);
    const left = leaving(page);
    await page.click("[data-do=file]");
    await page.waitForSelector("[data-pdf='1']");
    assert.match(await page.textContent(".fileview"), /Page 1 of 2/);
    const ink = () => page.$eval(".pdf__p", (canvas) => { const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data; let dark = 0; for (let i = 0; i < data.length; i += 4) if (data[i] < 128) dark++; return dark; });
    const first = await ink();
    assert.ok(first > 2000, `drawn: ${first}`);
    assert.match(await page.textContent(".fileview"), /Delivery note 4471/, "read aloud too");
    await tabTo(page, "[data-do=page-next]");
    await press(page, "Enter");
    await page.waitForSelector("[data-pdf='2']");
    assert.notEqual(await ink(), first);
    assert.deepEqual(left().map((url) => new URL(url).pathname).filter((path) => !path.startsWith("/assets/")), []);
  }],
  ["r12_a_broken_a_locked_or_another_file_is_told_in_words", { hash: "#/edit/A-2041" }, async (page) => {
    await page.waitForSelector(DRAFT);
    const pdf = (body) => Buffer.from(`%PDF-1.4\n${body}`);
    await page.setInputFiles("[data-file]", [
      { name: "broken.pdf", mimeType: "application/pdf", buffer: pdf("1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer << /Root 1 0 R >>\n%%EOF") },
      { name: "noise.pdf", mimeType: "application/pdf", buffer: pdf("\x00\x01\xff not a document".repeat(40)) },
      { name: "locked.pdf", mimeType: "application/pdf", buffer: pdf("1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [] /Count 0 >>\nendobj\n3 0 obj\n<< /Filter /Standard /V 1 /R 2 /O <0101010101010101010101010101010101010101010101010101010101010101> /U <0202020202020202020202020202020202020202020202020202020202020202> /P -4 >>\nendobj\ntrailer << /Root 1 0 R /Encrypt 3 0 R /ID [<00><00>] /Size 4 >>\n%%EOF") },
      { name: "page.pdf", mimeType: "application/pdf", buffer: Buffer.from("<html><script>window.ran=1</script>") },
    ]);
    await until("all attached", async () => (await page.locator(".att").count()) === 5);
    for (const [name, words] of [["broken", /can’t be read/], ["noise", /can’t be read/], ["locked", /protected with a password/], ["page", /can’t be shown here/]]) {
      await page.click(`.att[title="${name}.pdf"] [data-do=file]`);
      await until(name, async () => words.test((await page.textContent(".fileview").catch(() => "")) ?? ""));
      await press(page, "Escape");
      await page.waitForSelector("dialog[open]", { state: "detached" });
    }
    assert.equal(await page.evaluate(() => window.ran), undefined);
    await page.evaluate(() => window.__fake.swap("A-2041"));
    await page.click(".att [data-do=file] >> nth=0");
    await until("another file", async () => /not the file with this fingerprint/.test((await page.textContent(".fileview").catch(() => "")) ?? ""));
    page.problems = page.problems.filter((told) => !/pdf/i.test(told));
  }],
];
