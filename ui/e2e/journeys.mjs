// Ways through the window by keyboard alone, and the guards around an approval. Each ends in what the engine holds.

import assert from "node:assert/strict";
import { DRAFT, approvals, armed, atOnce, draftText, focused, listFocus, said, state, tabTo, until } from "./hands.mjs";
import { press, tick } from "./screens.mjs";

export const journeys = [
  ["r12_approving_by_keyboard_moves_to_the_next_request_and_says_so", { hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    await press(page, "Control+Enter");
    await until("approved", async () => (await state(page, "A-2041")) === "approved");
    await until("focus on the next heading", async () => (await focused(page)).heading && (await focused(page)).text.startsWith("Reklamation"));
    assert.match(await said(page, "assertive"), /Approved, waiting\. Nothing has left yet\. (10|9) seconds to undo, key Z/);
    await page.waitForSelector("[data-toast]");
    await press(page, "z");
    await until("put back", async () => (await state(page, "A-2041")) === "prepared");
    assert.match(await said(page, "polite"), /Put back\. Nothing had left\./);
    assert.equal((await focused(page)).lost, false);
  }],
  ["f55_approved_sent_and_unknown_are_each_said_once_and_the_focus_goes_to_the_next_card", { query: "?undo=1", hash: "#/awaiting/A-2041" }, async (page) => {
    // All that a screen reader is given to read, in order: each change of a live region that is not its emptying.
    await page.evaluate(() => {
      window.__log = [];
      for (const name of ["polite", "assertive"]) {
        const region = document.querySelector(`[data-${name}]`);
        new MutationObserver(() => region.textContent.trim() && window.__log.push(region.textContent.trim())).observe(region, { childList: true, characterData: true, subtree: true });
      }
    });
    const log = () => page.evaluate(() => window.__log);
    const times = async (phrase) => (await log()).filter((one) => one.includes(phrase)).length;
    await armed(page);
    await press(page, "Control+Enter");
    await until("focus on the next card's heading", async () => (await focused(page)).heading && (await focused(page)).text.startsWith("Reklamation"));
    await until("accepted", async () => (await state(page, "A-2041")) === "accepted");
    await until("said", async () => (await times("Sent: accepted by Office mailbox")) > 0);
    assert.equal((await focused(page)).lost, false);
    assert.equal(await times("Approved, waiting"), 1, (await log()).join(" | "));
    assert.equal(await times("Sent"), 1, (await log()).join(" | "));
    await page.evaluate(() => (location.hash = "#/awaiting/A-2049"));
    await page.waitForSelector("[data-shown=A-2049]", { state: "attached" });
    await armed(page);
    await press(page, "Control+Enter");
    await until("unknown", async () => (await state(page, "A-2049")) === "unknown");
    await until("said", async () => (await times("Outcome unknown - needs you")) > 0);
    assert.equal(await times("Outcome unknown - needs you"), 1, (await log()).join(" | "));
    assert.equal(await times("Approved, waiting"), 2);
    assert.match((await log()).join(" "), /Owen Castellanos[^:]*: not known yet, and nothing was sent again/);
    const { heading, lost } = await focused(page);
    assert.ok(heading && !lost, "the focus is on a card's heading");
  }],
  ["f55_each_outcome_is_said_in_the_language_of_the_window", { query: "?undo=1", hash: "#/awaiting/A-2041", language: "de" }, async (page) => {
    await armed(page);
    await press(page, "Control+Enter");
    await until("approved", async () => /^Freigegeben, wartet\. Noch ist nichts hinausgegangen/.test((await said(page, "assertive")) ?? ""));
    await until("accepted", async () => /Gesendet: angenommen von Office mailbox/.test((await said(page, "polite")) ?? ""));
  }],
  ["f18_enter_and_two_clicks_in_the_same_instant_give_one_approval", { hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    await page.evaluate(() => {
      const button = document.querySelector("[data-do=approve]");
      window.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }));
      button.click();
      button.click();
    });
    await until("approved", async () => (await state(page, "A-2041")) === "approved");
    await tick(page);
    assert.equal(await approvals(page, "A-2041"), 1);
  }],
  ["f18_nothing_is_approved_within_600_ms_of_its_arrival_or_by_a_held_key", { hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    await listFocus(page);
    await page.keyboard.press("j");
    await page.waitForSelector("[data-shown=A-2042]", { state: "attached" });
    await armed(page);
    await atOnce(
      page,
      () => window.dispatchEvent(new KeyboardEvent("keydown", { key: "k", bubbles: true })),
      "body:has([data-shown=A-2041]) [data-region=approval][data-armed=false]",
      () => void window.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true })),
    );
    await tick(page);
    assert.equal(await state(page, "A-2041"), "prepared");
    await armed(page);
    await page.evaluate(() => window.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, repeat: true, bubbles: true })));
    await tick(page);
    assert.equal(await state(page, "A-2041"), "prepared");
  }],
  ["f18_a_newer_draft_disarms_the_button", { hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    await atOnce(page, () => void window.__fake.redraft("A-2041", "Other words."), "[data-armed=false]", () => void window.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true })));
    await tick(page);
    assert.equal(await state(page, "A-2041"), "prepared");
  }],
  ["f19_enter_that_ends_a_composition_approves_nothing", { hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    await page.evaluate(() => {
      window.dispatchEvent(new CompositionEvent("compositionstart"));
      window.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, isComposing: true, bubbles: true }));
      window.dispatchEvent(new CompositionEvent("compositionend"));
    });
    await tick(page);
    assert.equal(await state(page, "A-2041"), "prepared");
  }],
  ["r17_a_held_check_is_opened_and_cleared_by_keyboard_before_approval", { hash: "#/awaiting/A-2044" }, async (page) => {
    await armed(page);
    await press(page, "Control+Enter");
    assert.equal(await state(page, "A-2044"), "prepared");
    await press(page, "c");
    await page.waitForSelector(".look");
    await tabTo(page, ".look input");
    await press(page, "Space");
    await page.waitForSelector(".sig--done");
    await press(page, "Control+Enter");
    await until("approved", async () => (await state(page, "A-2044")) === "approved");
  }],
  ["r13_editing_by_keyboard_gives_a_live_fingerprint_and_approves_exactly_that", { hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    await press(page, "e");
    await page.waitForSelector(DRAFT);
    const before = await page.getAttribute("[data-live-hash]", "data-live-hash");
    await tabTo(page, DRAFT);
    await page.keyboard.press("Control+End");
    await page.keyboard.type(" P.S. Ring twice.");
    await until("another fingerprint", async () => (await page.getAttribute("[data-live-hash]", "data-live-hash")) !== before);
    await until("kept", async () => /Ring twice/.test((await page.evaluate(() => window.__fake.kept("A-2041"))) ?? ""));
    // Enter makes a line in the draft; Ctrl Enter approves the version on screen.
    await armed(page);
    await page.keyboard.press("Control+Enter");
    await until("approved", async () => (await state(page, "A-2041")) === "approved");
    assert.equal(await approvals(page, "A-2041"), 1);
    await until("focus on a heading", async () => (await focused(page)).heading);
  }],
  ["f16_leaving_by_escape_keeps_the_text_and_coming_back_restores_it", { hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    await press(page, "e");
    await page.waitForSelector(DRAFT);
    await tabTo(page, DRAFT);
    await page.keyboard.type("wrong price ");
    await press(page, "Escape");
    await page.waitForSelector("[data-do=edit]");
    await press(page, "e");
    await page.waitForSelector(DRAFT);
    assert.match(await draftText(page), /wrong price/);
  }],
  ["f16_a_newer_version_leaves_the_typed_text_where_it_is", { hash: "#/edit/A-2041" }, async (page) => {
    await page.waitForSelector(DRAFT);
    await tabTo(page, DRAFT);
    await page.keyboard.type("wrong price ");
    await page.evaluate(() => window.__fake.redraft("A-2041", "A newer draft."));
    await page.waitForSelector("[data-newer] >> text=A newer version 2 came");
    assert.match(await draftText(page), /wrong price/);
  }],
  ["r24_an_unknown_is_settled_by_keyboard_with_evidence", {}, async (page) => {
    await armed(page);
    await press(page, "g", "u");
    await page.waitForSelector(".opts");
    await press(page, "p");
    await page.waitForSelector("dialog[open] textarea");
    await tabTo(page, "dialog [data-do=record]");
    await press(page, "Enter");
    assert.equal(await state(page, "A-2038"), "unknown", "no verdict without evidence");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.type("Hugo answered at 10:02.");
    await tabTo(page, "dialog [data-do=record]");
    await press(page, "Enter");
    await until("accepted", async () => (await state(page, "A-2038")) === "accepted");
    assert.equal((await focused(page)).lost, false);
  }],
  ["r24_a_signed_did_not_arrive_lets_it_go_again", { hash: "#/unknown" }, async (page) => {
    await page.waitForSelector(".opts");
    await tabTo(page, "[data-offer=did_not_happen] button");
    await press(page, "Enter");
    await page.waitForSelector("dialog[open] textarea");
    await page.keyboard.type("Hugo says nothing came.");
    await tabTo(page, "dialog [data-do=record]");
    await press(page, "Enter");
    await until("again", async () => ["approved", "in_progress", "accepted"].includes(await state(page, "A-2038")));
  }],
  ["r28_a_revision_is_written_and_approved_by_keyboard", { hash: "#/action/A-1986" }, async (page) => {
    await page.waitForSelector("[data-do=revise]");
    await press(page, "n");
    await page.waitForSelector(DRAFT);
    await tabTo(page, DRAFT);
    await page.keyboard.type("Correction. ");
    await armed(page);
    await page.keyboard.press("Control+Enter");
    await until("approved", async () => ["approved", "in_progress"].includes(await state(page, "A-2051")));
    assert.equal(await state(page, "A-1986"), "accepted", "the first message keeps its outcome");
  }],
  ["r37_history_is_searched_and_opened_by_keyboard", {}, async (page) => {
    await armed(page);
    await press(page, "/");
    await until("the search has the focus", () => page.evaluate(() => document.activeElement?.hasAttribute("data-search") ?? false));
    await page.keyboard.type("fenwick");
    await until("one row", async () => (await page.locator("tbody tr[data-row]").count()) === 1);
    await press(page, "ArrowDown");
    await until("the row has the focus", () => page.evaluate(() => document.activeElement?.closest("tr[data-row]") !== null));
    await press(page, "Enter");
    await page.waitForSelector(".tl");
    await press(page, "Escape");
    await until("the search is as it was left", async () => (await page.inputValue("[data-search]").catch(() => "")) === "fenwick");
  }],
  ["r37_f6_goes_round_the_five_areas", { hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    const seen = [];
    for (let i = 0; i < 5; i++) {
      await press(page, "F6");
      seen.push(await page.evaluate(() => document.activeElement?.closest("[data-region]")?.getAttribute("data-region")));
    }
    assert.deepEqual(seen, ["sidebar", "list", "message", "draft", "approval"]);
    await press(page, "Shift+F6");
    assert.equal(await page.evaluate(() => document.activeElement?.closest("[data-region]")?.getAttribute("data-region")), "draft");
  }],
  ["r37_rejecting_asks_first_and_returns_the_focus", { hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    await press(page, "x");
    await page.waitForSelector("dialog[open]");
    assert.match((await focused(page)).text, /Keep it/, "the safe button has the first focus");
    await press(page, "Escape");
    assert.equal(await state(page, "A-2041"), "prepared");
    await press(page, "x");
    await tabTo(page, "dialog input[type=text]");
    await page.keyboard.type("wrong price");
    await press(page, "Escape");
    await press(page, "x");
    assert.equal(await page.inputValue("dialog input[type=text]"), "wrong price", "leaving the dialog kept the words");
    await tabTo(page, "dialog [data-do=reject]");
    await press(page, "Enter");
    await until("rejected", async () => (await state(page, "A-2041")) === "rejected");
    await until("focus on the next heading", async () => (await focused(page)).heading);
  }],
  ["r39_a_locked_key_asks_for_the_passphrase_and_approves_nothing_by_itself", { query: "?locked", hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    await press(page, "Control+Enter");
    await page.waitForSelector("dialog[open] input[type=password]");
    await page.keyboard.type("wrong");
    await press(page, "Enter");
    await page.waitForSelector("dialog [role=alert]");
    await page.keyboard.type("right");
    await press(page, "Enter");
    await until("closed", async () => (await page.locator("dialog[open]").count()) === 0);
    assert.equal(await state(page, "A-2041"), "prepared");
    await press(page, "Control+Enter");
    await until("approved", async () => (await state(page, "A-2041")) === "approved");
  }],
  ["r04_a_missing_identity_is_completed_by_keyboard", { hash: "#/needs-review/A-2036" }, async (page) => {
    await page.waitForSelector(".review form input");
    await tabTo(page, ".review form input");
    await page.keyboard.type("inquiry-1183");
    await press(page, "Enter");
    await until("prepared", async () => (await state(page, "A-2036")) === "prepared");
  }],
  ["r15_after_a_crossing_only_the_stored_message_can_be_approved", { hash: "#/needs-review/A-2034" }, async (page) => {
    await armed(page);
    assert.equal(await page.locator("[data-do=edit], [data-draft]").count(), 0);
    await press(page, "Control+Enter");
    await until("approved", async () => ["approved", "in_progress", "accepted"].includes(await state(page, "A-2034")));
  }],
  ["f15_a_notification_only_shows_and_decides_nothing", {}, async (page) => {
    await armed(page);
    await page.evaluate(() => window.__fake.open("A-2038"));
    await page.waitForSelector(".unkhead");
    assert.equal(await state(page, "A-2038"), "unknown");
  }],
  ["r42_first_run_into_the_sandbox_by_keyboard", { query: "?first" }, async (page) => {
    await tabTo(page, "[data-do=sandbox]");
    await press(page, "Enter");
    await page.waitForSelector("[role=alert]");
    await page.keyboard.type("Noor Brackley");
    await tabTo(page, "[data-do=sandbox]");
    await press(page, "Enter");
    await page.waitForSelector("[role=option]");
    assert.equal(await page.locator("[role=option]").count(), 3);
  }],
  ["r39_first_run_without_a_key_store_makes_nothing_until_the_file_is_chosen", { query: "?first&nokeychain" }, async (page) => {
    await page.keyboard.press("Tab");
    await tabTo(page, "main input");
    await page.keyboard.type("Noor Brackley");
    await tabTo(page, "[data-do=sandbox]");
    await press(page, "Enter");
    await page.waitForSelector("[data-passphrase]");
    assert.equal(await page.locator("[role=option]").count(), 0, "nothing was made");
    await tabTo(page, "[data-passphrase]");
    await page.keyboard.type("correct horse battery");
    await press(page, "Tab");
    await page.keyboard.type("correct horse batterx");
    await press(page, "Enter");
    assert.match(await page.textContent("#pp-again"), /not the same/);
    await press(page, "Backspace");
    await page.keyboard.type("y");
    await press(page, "Enter");
    await page.waitForSelector("[role=option]");
  }],
  ["f38_quitting_while_held_asks_first_and_can_put_back", { hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    await press(page, "Control+Enter");
    await until("approved", async () => (await state(page, "A-2041")) === "approved");
    await page.evaluate(() => window.__fake.quit());
    await page.waitForSelector("dialog[open]");
    assert.match((await focused(page)).text, /Stay/, "the safe button has the first focus");
    await press(page, "Enter");
    await until("closed", async () => (await page.locator("dialog[open]").count()) === 0);
    assert.equal(await state(page, "A-2041"), "approved");
    await page.evaluate(() => window.__fake.quit());
    await page.waitForSelector("dialog[open]");
    await tabTo(page, "[data-do=quit-back]");
    await press(page, "Enter");
    await until("put back", async () => (await state(page, "A-2041")) === "prepared");
    await until("quit", () => page.evaluate(() => document.documentElement.dataset.quit === "put back"));
  }],
  ["r25_an_unknown_is_finished_under_the_same_key_by_a_button_that_says_what_it_does", { hash: "#/unknown/A-2054" }, async (page) => {
    await page.waitForSelector("[data-offer=finish] button");
    await tabTo(page, "[data-offer=finish] button");
    await press(page, "Enter");
    await page.waitForSelector("dialog[open]");
    assert.match((await focused(page)).text, /Cancel/);
    await tabTo(page, "dialog [data-do=go]");
    await press(page, "Enter");
    await until("accepted", async () => (await state(page, "A-2054")) === "accepted");
    assert.equal((await focused(page)).lost, false);
  }],
  ["r13_a_file_is_attached_shown_with_its_digest_and_taken_out_again", { hash: "#/edit/A-2041" }, async (page) => {
    await page.waitForSelector(DRAFT);
    const before = await page.getAttribute("[data-live-hash]", "data-live-hash");
    await page.setInputFiles("[data-file]", { name: "Übersicht März.txt", mimeType: "text/plain", buffer: Buffer.from("Zeiten") });
    await page.waitForSelector(".att >> text=Übersicht März.txt");
    await until("another fingerprint", async () => (await page.getAttribute("[data-live-hash]", "data-live-hash")) !== before);
    // SHA-256 of "Zeiten", from sha256sum.
    assert.match(await page.textContent(".att:has-text('Übersicht') .mono"), /6B95 ?DD50/);
    await page.setInputFiles("[data-file]", { name: "bad.exe", mimeType: "application/octet-stream", buffer: Buffer.from("MZ") });
    await page.waitForSelector("[role=alert] >> text=bad.exe was not taken");
    await page.click("[aria-label='Remove the file Übersicht März.txt']");
    await until("the first fingerprint", async () => (await page.getAttribute("[data-live-hash]", "data-live-hash")) === before);
  }],
  ["r11_all_actions_of_a_request_are_approved_at_once_only_after_they_could_be_read", { hash: "#/awaiting/A-2043" }, async (page) => {
    const ids = await page.evaluate(() => window.__fake.bundle("A-2043"));
    assert.ok(ids.length > 1);
    await armed(page);
    await listFocus(page);
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await page.keyboard.press("Control+Shift+Enter");
    await tick(page);
    for (const id of ids) assert.equal(await state(page, id), "prepared", "too early");
    for (const check of await page.evaluate((all) => window.__fake.checks(all), ids)) await page.evaluate(([id, code, field]) => window.__fake.clear(id, code, field), check);
    await armed(page);
    await press(page, "Control+Shift+Enter");
    for (const id of ids) await until(`${id} approved`, async () => (await state(page, id)) === "approved");
    for (const id of ids) assert.equal(await approvals(page, id), 1);
  }],
  ["r37_the_palette_finds_a_request_and_a_command_and_never_approves", {}, async (page) => {
    await armed(page);
    await press(page, "Control+k");
    await page.waitForSelector("[role=combobox]");
    await page.keyboard.type("approve");
    await tick(page);
    assert.equal(await page.locator(".pal__o >> text=/Approve/").count(), 0);
    await page.keyboard.press("Control+a");
    await page.keyboard.type("Settings");
    await press(page, "Enter");
    await page.waitForSelector("#s-file");
    await press(page, "Control+k");
    await page.waitForSelector("[role=combobox]");
    await page.keyboard.type("fenwick");
    await page.waitForSelector("[id^=pal-r-]");
    await press(page, "Enter");
    await until("its view", async () => /#\/(awaiting|unknown|needs-review|on-the-way|action)\//.test(await page.evaluate(() => location.hash)));
    await until("focus on a heading", async () => (await focused(page)).heading);
  }],
  ["r33_a_source_is_added_by_keyboard_and_its_token_shown_once", { hash: "#/sources" }, async (page) => {
    await page.waitForSelector("[data-do=add]");
    await tabTo(page, "[data-do=add]");
    await press(page, "Enter");
    await page.waitForSelector("dialog[open] #src-name");
    await page.keyboard.type("night-agent");
    await press(page, "Enter");
    await page.waitForSelector("dialog [data-bad]");
    await press(page, "Space");
    await tabTo(page, "dialog fieldset:nth-of-type(2) input");
    await press(page, "Space");
    await tabTo(page, "dialog [data-do=add-source]");
    await press(page, "Enter");
    await page.waitForSelector(".once__t");
    assert.match(await page.textContent(".once__t"), /^cs_/);
    await tabTo(page, "dialog [data-do=kept]");
    await press(page, "Enter");
    await page.waitForSelector(".subhead >> text=night-agent");
    assert.equal(await page.evaluate(() => document.body.innerText.includes("cs_pretend")), false);
  }],
  ["r34_a_destination_of_any_kind_is_added_with_the_form_of_its_kind", { hash: "#/destinations" }, async (page) => {
    await tabTo(page, "[data-do=add]");
    await press(page, "Enter");
    await tabTo(page, "[data-kind=resend]");
    await press(page, "Enter");
    await page.waitForSelector("#k-name");
    await page.keyboard.type("orders-api");
    await tabTo(page, "#k-secret");
    await page.keyboard.type("wrong");
    await press(page, "Enter");
    await page.waitForSelector("#k-from[aria-invalid=true]");
    await page.keyboard.type("orders@brackenhall.example");
    await tabTo(page, "dialog [data-do=next]");
    await press(page, "Enter");
    await page.waitForSelector("[data-probe=stopped]");
    assert.equal(await page.getAttribute("dialog [data-do=finish]", "aria-disabled"), "true");
    await tabTo(page, "dialog .dlg__f button:nth-of-type(2)");
    await press(page, "Enter");
    await tabTo(page, "#k-secret");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("right");
    await press(page, "Enter");
    await page.waitForSelector("dialog [data-do=finish][aria-disabled=false]");
    await tabTo(page, "dialog [data-do=finish]");
    await press(page, "Enter");
    await page.waitForSelector(".item >> text=orders-api");
  }],
  ["r40_a_mailbox_is_added_by_keyboard_after_its_test", { hash: "#/destinations" }, async (page) => {
    await page.waitForSelector("[data-do=add]");
    await tabTo(page, "[data-do=add]");
    await press(page, "Enter");
    await page.waitForSelector("[data-kind=mailbox]");
    await press(page, "Enter");
    await page.waitForSelector("dialog[open] #m-from");
    await page.keyboard.type("hello@brackenhall.example");
    await press(page, "Tab");
    await tabTo(page, "#m-password");
    await page.keyboard.type("secret");
    await press(page, "Enter");
    await page.waitForSelector("#m-smtp");
    await press(page, "Enter");
    await page.waitForSelector("[data-do=finish][aria-disabled=false]");
    await tabTo(page, "[data-do=finish]");
    await press(page, "Enter");
    await until("listed", async () => (await page.locator(".item").count()) === 5);
  }],
  ["r37_a_hundred_thousand_requests_are_paged_and_only_those_in_view_exist", { query: "?many=100000" }, async (page) => {
    await page.waitForSelector("[role=option]");
    assert.ok((await page.locator("[role=option]").count()) < 40);
    await listFocus(page);
    for (let i = 0; i < 130; i++) await page.keyboard.press("j");
    await until("the 131st is chosen", async () => (await page.getAttribute("[role=option][aria-selected=true]", "aria-posinset").catch(() => "")) === "131");
    assert.ok((await page.locator("[role=option]").count()) < 40);
    assert.equal(await page.getAttribute("[role=option][aria-selected=true]", "aria-setsize"), "-1", "there are more than were counted");
  }],
  ["r37_a_number_that_is_not_counted_on_says_that_there_are_more", { query: "?many=2000" }, async (page) => {
    await page.waitForSelector("[role=option]");
    assert.equal((await page.textContent("nav.side a[href='#/awaiting'] .nav__n")).trim(), "1000+");
    assert.equal((await page.textContent(".list .head__n")).trim(), "1000+");
  }],
  ["f49_a_desktop_that_shows_no_notifications_is_named_in_settings", { query: "?nobubbles", hash: "#/settings" }, async (page) => {
    await page.waitForSelector("[data-do=test-note]");
    await tabTo(page, "[data-do=test-note]");
    await press(page, "Enter");
    await page.waitForSelector("[data-notes].c-plum");
    assert.match(await page.textContent("[data-notes]"), /no notifications are shown/);
  }],
  ["r05_what_has_no_key_yet_says_in_words_that_it_has_no_fingerprint", { hash: "#/action/A-2036" }, async (page) => {
    await page.waitForSelector("dl.facts");
    assert.ok((await page.textContent("body")).includes("No fingerprint yet"));
  }],
  ["f28_unseen_characters_are_drawn_as_chips", { hash: "#/awaiting/A-2048" }, async (page) => {
    await page.waitForSelector(".att .unseen");
    assert.deepEqual(await page.locator(".att .unseen").allTextContents(), ["RLO"]);
    assert.ok((await page.locator(".who .unseen").allTextContents()).includes("ZWSP"));
  }],
  ["f35_formatted_mail_runs_and_loads_nothing", { hash: "#/awaiting/A-2048" }, async (page) => {
    await page.click(".col--theirs .ib--sm");
    await page.waitForSelector("iframe");
    assert.equal(await page.getAttribute("iframe", "sandbox"), "");
    const frame = page.frames()[1];
    await until("drawn with our style", async () => (await frame.locator("b").count()) === 1);
  }],
];
