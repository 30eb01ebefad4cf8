// What a screen reader hears of each change of state: once, in the window's language. Every live region of the page counts,
// so that no second one says it again.

import assert from "node:assert/strict";
import { DRAFT, armed, state, tabTo, until } from "./hands.mjs";
import { press, tick } from "./screens.mjs";

/** Everything that any live region is given to read from now on. */
const hear = async (page) => {
  await page.evaluate(() => {
    window.__heard = [];
    const live = "[role=status], [role=alert], [aria-live]:not([aria-live=off])";
    const last = new WeakMap();
    const note = (region) => {
      const text = region.textContent.replace(/\s+/g, " ").trim();
      if (text && last.get(region) !== text) window.__heard.push(text);
      last.set(region, text);
    };
    for (const region of document.querySelectorAll(live)) last.set(region, region.textContent.replace(/\s+/g, " ").trim());
    new MutationObserver((changes) => {
      const regions = new Set();
      for (const change of changes) {
        const node = change.target instanceof Element ? change.target : change.target.parentElement;
        const own = node?.closest(live);
        if (own) regions.add(own);
        for (const added of change.addedNodes) if (added instanceof Element) for (const region of [...(added.matches(live) ? [added] : []), ...added.querySelectorAll(live)]) regions.add(region);
      }
      regions.forEach(note);
    }).observe(document.documentElement, { subtree: true, childList: true, characterData: true });
  });
  return {
    async once(what, pattern) {
      const found = async () => (await page.evaluate(() => window.__heard)).filter((one) => pattern.test(one));
      await until(`said: ${what}`, async () => (await found()).length > 0);
      // What would say it a second time is on its way by now: the feed, the lists, the next frames.
      for (let i = 0; i < 4; i++) await tick(page);
      assert.equal((await found()).length, 1, `${what}: ${JSON.stringify(await page.evaluate(() => window.__heard))}`);
      await page.evaluate(() => (window.__heard.length = 0));
    },
    clear: () => page.evaluate(() => (window.__heard.length = 0)),
  };
};
const engine = (page, what) => page.evaluate((x) => window.__fake.set(x), what);
const become = (page, ...what) => page.evaluate((x) => window.__fake.become(...x), what);

const languages = {
  en: { held: /^Approved, waiting/, back: /Put back/, review: /: Needs review/, refused: /: Refused/, gaveUp: /: Gave up/, off: /^Sending is off/, on: /^Sending is on/, frozen: /^Ledger moved or copied/, lifted: /no longer stopped/, locked: /key is locked/, unlocked: /is unlocked/, down: /Office mailbox can’t be reached/, up: /can be reached again/ },
  de: { held: /^Freigegeben, wartet/, back: /Zurückgenommen/, review: /: Zu klären|: Klärung|: Prüf/, refused: /: Abgelehnt/, gaveUp: /: Nicht gesendet|: .*beendet/, off: /^Das Senden ist .* aus/, on: /^Das Senden ist an/, frozen: /Hauptbuch/, lifted: /nicht mehr angehalten/, locked: /Schlüssel ist gesperrt/, unlocked: /ist entsperrt/, down: /Office mailbox/, up: /wieder erreichbar/ },
  ar: { held: /^موافَق عليه، ينتظر/, back: /سُحبت الموافقة/, review: /.+: .+/, refused: /.+: .+/, gaveUp: /.+: .+/, off: /^الإرسال مطفأ/, on: /^الإرسال يعمل/, frozen: /الدفتر/, lifted: /لم يعد الإرسال موقوفًا/, locked: /مفتاحك مقفل/, unlocked: /مفتوح القفل/, down: /Office mailbox/, up: /متاحة من جديد/ },
};

export const told = [
  ...Object.entries(languages).map(([language, words]) => [`f55_each_state_is_said_once_${language}`, { query: "?undo=60", hash: "#/awaiting/A-2041", language }, async (page) => {
    await armed(page);
    const ear = await hear(page);
    await press(page, "Control+Enter");
    await ear.once("approved", words.held);
    await press(page, "z");
    await ear.once("put back", words.back);
    await become(page, "A-2041", "needs_review", "situation changed", "needs_review");
    await ear.once("needs review", words.review);
    await become(page, "A-2049", "refused", "550 no such user", "refused");
    await ear.once("refused", words.refused);
    await become(page, "A-2048", "gave_up", "450 busy", "gave_up");
    await ear.once("gave up", words.gaveUp);
    await engine(page, { sending: false });
    await ear.once("sending off", words.off);
    await engine(page, { sending: true });
    await ear.once("sending on", words.on);
    await engine(page, { frozen: "copied" });
    await ear.once("frozen", words.frozen);
    await engine(page, { frozen: null });
    await ear.once("lifted", words.lifted);
    await engine(page, { locked: true });
    await ear.once("locked", words.locked);
    await engine(page, { locked: false });
    await ear.once("unlocked", words.unlocked);
    await engine(page, { health: "paused" });
    await ear.once("paused", words.down);
    await engine(page, { health: "reachable" });
    await ear.once("reachable", words.up);
  }]),
  ["f55_a_verdict_of_ones_own_is_said_once_though_the_feed_tells_it_too", { hash: "#/unknown" }, async (page) => {
    await page.waitForSelector(".opts");
    const ear = await hear(page);
    await press(page, "p");
    await page.waitForSelector("dialog[open] textarea");
    await page.keyboard.type("Hugo answered.");
    await tabTo(page, "dialog [data-do=record]");
    await press(page, "Enter");
    await until("accepted", async () => (await state(page, "A-2038")) === "accepted");
    await ear.once("settled", /Hugo Amsel: Accepted, on your word/);
  }],
  ["f55_a_refused_approval_is_said_once_beside_the_bar", { query: "?locked", hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    const ear = await hear(page);
    await press(page, "Control+Enter");
    await page.waitForSelector("dialog[open]");
    await ear.once("locked", /Your key is locked\. Unlock it to approve/);
  }],
  ["f55_a_newer_version_and_a_saved_one_are_said_once", { hash: "#/edit/A-2041" }, async (page) => {
    await page.waitForSelector(DRAFT);
    await tabTo(page, DRAFT, 120);
    await page.keyboard.type("Words. ");
    const ear = await hear(page);
    await page.evaluate(() => window.__fake.redraft("A-2041", "A newer draft."));
    await ear.once("newer", /A newer version 2 came/);
    await tabTo(page, "[data-do=keep-mine]", 120);
    await press(page, "Enter");
    await page.waitForSelector("[data-newer]", { state: "detached" });
    await ear.clear();
    await press(page, "Control+s");
    await ear.once("saved", /Saved as version/);
  }],
  ["f41_a_daily_limit_opens_its_reason_and_offers_no_tick", { hash: "#/awaiting/A-2041" }, async (page) => {
    await armed(page);
    await page.evaluate(() => window.__fake.find("A-2041", "daily_limit", "conversation", "3 messages went into this thread in 24 hours, and what it answers was written by no person. No more is approved before 2027-03-28T07:00:00Z."));
    await page.waitForSelector("[data-check^=daily_limit]");
    assert.match(await page.textContent("#why-not"), /can’t be approved yet/);
    await press(page, "c");
    await page.waitForSelector(".look");
    assert.match(await page.textContent(".look"), /3 messages went into this thread.*28 Mar/s);
    assert.equal(await page.locator(".look input").count(), 0);
    await press(page, "Control+Enter");
    assert.equal(await state(page, "A-2041"), "prepared");
  }],
];
