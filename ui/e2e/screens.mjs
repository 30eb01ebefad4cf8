// Each screen of the window and how to reach it: for the pictures and for axe.

export const tick = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

export const press = async (page, ...keys) => {
  for (const key of keys) await page.keyboard.press(key);
  await tick(page);
};

/** Where a draft is written. */
export const DRAFT = "[data-draft] [data-text]";

/** The lines as they stand in the editor, without what is drawn around them. */
export const draftText = async (page) => {
  await page.waitForSelector(DRAFT);
  return page.$eval(DRAFT, (box) => [...box.children].map((line) => { const copy = line.cloneNode(true); for (const drawn of copy.querySelectorAll(".ProseMirror-widget")) drawn.remove(); return copy.textContent; }).join("\n"));
};

/** Everything that stands there, replaced as by a paste. */
export const rewrite = async (page, text, type = "text/plain") => {
  // A screen that has just opened puts the focus where it wants it, once: the text keeps it after that.
  do {
    await page.focus(DRAFT);
    await tick(page);
  } while (!(await page.evaluate((box) => document.querySelector(box)?.contains(document.activeElement), DRAFT)));
  await page.keyboard.press("Control+a");
  await page.evaluate(([words, kind]) => {
    const data = new DataTransfer();
    data.setData(kind, words);
    document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  }, [text, type]);
};

const reword = async (page) => {
  const text = await draftText(page);
  await rewrite(page, text.replace("between 9 and", "between 10 and").replace("tell me by", "please call me by").replace("no extra charge.", "no extra charge. Please keep the entrance free for about 20 minutes."));
  await tick(page);
  await tick(page);
};
const formatted = async (page) => {
  await page.waitForSelector(DRAFT);
  await page.evaluate(() => window.__fake.redraft("A-2041", "Hello Marta,\n\nOrder 4471 leaves our workshop on Thursday 16 May:\n\n- two oak benches\n- one table\n\nSee our delivery terms (https://brackenhall.example/terms).", { html: "<p>Hello <b>Marta</b>,</p><p>Order 4471 leaves our workshop on <b>Thursday 16 May</b>:</p><ul><li>two oak benches</li><li>one table</li></ul><p>See <a href='https://brackenhall.example/terms'>our delivery terms</a>.</p>" }));
  await page.waitForSelector("[data-part=plain]");
};
const armed = (page) => page.waitForSelector("[data-armed=true]");
const addUntil = (step) => async (page) => {
  await page.click("[data-do=add]");
  await page.click("[data-kind=mailbox]");
  await page.fill("#m-from", "hello@brackenhall.example");
  await press(page, "Tab");
  if (step === 1) return;
  await page.fill("#m-password", step === 4 ? "wrong" : "secret");
  await press(page, "Enter");
  if (step === 2) return;
  await press(page, "Enter");
  await page.waitForSelector(step === 4 ? "[data-probe=stopped]" : "[data-do=finish][aria-disabled=false]");
};

/** A draft with a time of its own, so many minutes from now. */
const timed = (minutes) => async (page) => {
  await armed(page);
  await page.evaluate((more) => {
    const then = new Date(Date.now() + more * 60_000);
    const two = (n) => String(n).padStart(2, "0");
    const local = `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())}T${two(then.getHours())}:${two(then.getMinutes())}`;
    return window.__fake.redraft("A-2041", "Hello Marta,\n\nyour benches leave our workshop tomorrow morning.\n\nKind regards,\nNoor Brackley", { send_at: { local, zone: "Europe/Berlin" } });
  }, minutes);
  await page.waitForSelector("[data-goes]");
};

export const screens = [
  { name: "01-awaiting", after: armed },
  { name: "02-bundle", hash: "#/awaiting/A-2042", after: (p) => press(p, "c") },
  { name: "02-bundle-focus", hash: "#/awaiting/A-2042", after: async (p) => { await p.waitForSelector(".strip"); await p.focus("[role=listbox]"); await press(p, "Enter"); } },
  { name: "02-note", hash: "#/awaiting/A-2043", after: async (p) => { await p.waitForSelector(".strip"); await p.focus("[role=listbox]"); await press(p, "Enter", "2"); } },
  { name: "02-deal", hash: "#/awaiting/A-2044", after: async (p) => { await p.waitForSelector(".strip"); await press(p, "2"); await p.waitForSelector(".fieldsbox"); } },
  { name: "02-unseen", hash: "#/awaiting/A-2048", after: (p) => press(p, "c") },
  { name: "02-formatted", hash: "#/awaiting/A-2048", after: async (p) => { await p.click(".col--theirs .ib--sm"); await p.waitForSelector("iframe"); } },
  { name: "02-pdf", hash: "#/awaiting/A-2041", after: async (p) => { await p.click("[data-do=file]"); await p.waitForSelector("[data-pdf='1']"); } },
  { name: "03-edit-changes", hash: "#/edit/A-2041", after: async (p) => { await reword(p); await press(p, "Control+d"); await p.waitForSelector(`${DRAFT} ins`); } },
  { name: "03-edit-formatted", hash: "#/edit/A-2041", after: async (p) => { await formatted(p); await p.waitForSelector("[data-text=formatted]"); await p.focus(DRAFT); } },
  { name: "03-edit-parts", hash: "#/edit/A-2041", after: async (p) => { await formatted(p); await p.click("[data-part=plain]"); await p.focus(DRAFT); await p.keyboard.type("Otherwise: {date}. "); await p.waitForSelector("[data-do=html-from-text]"); } },
  { name: "03-snippets", hash: "#/edit/A-2041", after: async (p) => { await p.focus(DRAFT); await press(p, "Control+j"); await p.waitForSelector("#snips"); } },
  { name: "03-snippet-fields", hash: "#/edit/A-2041", after: async (p) => { await p.focus(DRAFT); await press(p, "Control+j"); await p.waitForSelector("#snips"); await press(p, "Enter"); await p.waitForSelector("#fill"); } },
  { name: "13-snippet", hash: "#/settings", after: async (p) => { await p.click("[data-snippet='Delivery moved'] .btn"); await p.waitForSelector("#snip-text"); } },
  { name: "03-edit", hash: "#/edit/A-2041", after: reword },
  { name: "03-edit-changes", hash: "#/edit/A-2041", after: async (p) => { await reword(p); await p.click("[role=radio] >> nth=1"); } },
  { name: "01-later", hash: "#/awaiting/A-2041", after: timed(40) },
  { name: "02-limit", hash: "#/awaiting/A-2041", after: async (p) => { await armed(p); await p.evaluate(() => window.__fake.find("A-2041", "daily_limit", "conversation", "3 messages went into this thread in 24 hours, and what it answers was written by no person. No more is approved before 2027-03-28T07:00:00Z.")); await p.waitForSelector("[data-check]"); await press(p, "c"); await p.waitForSelector(".look"); } },
  { name: "03-edit-time", hash: "#/edit/A-2041", after: async (p) => { await p.waitForSelector(DRAFT); await p.focus("[data-do=send-at]"); await press(p, "Enter"); await p.fill("[data-send-at]", "2027-10-31 02:30"); await p.waitForSelector("[data-send-which]"); } },
  { name: "04-later", hash: "#/awaiting/A-2041", after: async (p) => { await timed(40)(p); await armed(p); await press(p, "Control+Enter"); await p.waitForSelector("[data-shown]:not([data-shown=A-2041])", { state: "attached" }); await p.evaluate(() => (location.hash = "#/on-the-way/A-2041")); await p.waitForSelector("[data-shown=A-2041]", { state: "attached" }); } },
  { name: "04-held", hash: "#/awaiting/A-2041", after: async (p) => { await armed(p); await press(p, "Control+Enter"); await p.waitForSelector("[data-toast]"); await p.click("[role=option] >> nth=0"); await p.waitForSelector(".sign--held"); } },
  { name: "04-toast", hash: "#/awaiting/A-2041", after: async (p) => { await armed(p); await press(p, "Control+Enter"); await p.waitForSelector("[data-toast]"); } },
  { name: "05-unknown", hash: "#/unknown", after: (p) => p.waitForSelector(".opts") },
  { name: "05-proof", hash: "#/unknown", after: async (p) => { await p.waitForSelector(".opts"); await press(p, "p"); await p.waitForSelector("dialog[open]"); } },
  { name: "05-proof-not", hash: "#/unknown", after: async (p) => { await p.waitForSelector(".opts"); await p.click("[data-offer=did_not_happen] button"); await p.waitForSelector("dialog[open]"); } },
  { name: "05-close", hash: "#/unknown", after: async (p) => { await p.waitForSelector(".opts"); await p.click("[data-offer=leave] button"); await p.waitForSelector("dialog[open]"); } },
  { name: "06-history", hash: "#/history", after: (p) => p.waitForSelector("tbody tr") },
  { name: "06-history-past", query: "?past", hash: "#/history", after: async (p) => { await p.waitForSelector("tbody tr"); await p.click(".bar__end .filt >> nth=-1"); await p.click("[role=menuitemradio] >> nth=2"); await p.waitForSelector(".over svg"); } },
  { name: "06-history-table", query: "?past", hash: "#/history", after: async (p) => { await p.click("[data-do=as-table]"); await p.waitForSelector(".talt tbody tr"); } },
  { name: "17-insights", query: "?past", hash: "#/insights", after: async (p) => { await p.waitForSelector(".panel svg.chart"); await p.focus("[data-bars] >> nth=1"); } },
  { name: "17-insights-tables", query: "?past", hash: "#/insights", after: async (p) => { await p.click("[data-do=table-times]"); await p.click("[data-do=table-weeks]"); await p.waitForSelector(".panel .talt"); } },
  { name: "17-insights-empty", query: "?empty", hash: "#/insights", after: (p) => p.waitForSelector(".empty") },
  { name: "11-outcomes", hash: "#/sources", after: async (p) => { await p.waitForSelector("[data-outcomes] .outlog"); await p.evaluate(() => document.querySelector("[data-outcomes]").scrollIntoView()); } },
  { name: "11-outcome-set", hash: "#/sources", after: async (p) => { await p.click("[data-do=set-outcome]"); await p.waitForSelector("#out-url"); } },
  { name: "02-raw", hash: "#/awaiting/A-2041", after: async (p) => { await armed(p); await press(p, "v"); await p.waitForSelector("[data-raw=raw]"); } },
  { name: "02-raw-html", hash: "#/awaiting/A-2041", after: async (p) => { await armed(p); await p.evaluate(() => window.__fake.redraft("A-2041", "Short text.", { html: "<p>Short <b>text</b>. <a href='https://elsewhere.example/'>example.com</a></p>" })); await p.waitForSelector("iframe"); await press(p, "v"); await p.click("[data-form=html]"); await p.waitForSelector("dialog iframe"); } },
  { name: "03-newer", hash: "#/edit/A-2041", after: async (p) => { await reword(p); await p.evaluate(() => window.__fake.redraft("A-2041", "Hello Marta,\n\nthe delivery is on Monday.", { html: "<p>Monday</p>", reply_to: [{ email: "else@where.example" }] })); await p.waitForSelector("[data-newer]"); } },
  { name: "06-nomatch", hash: "#/history", after: async (p) => { await p.fill("[data-search]", "bench 4417"); await p.waitForSelector(".empty"); } },
  { name: "07-record", hash: "#/action/A-1986", after: (p) => p.waitForSelector(".tl") },
  { name: "07-record-unknown", hash: "#/action/A-2038", after: (p) => p.waitForSelector(".tl") },
  { name: "08-revise", hash: "#/action/A-1986", after: async (p) => { await p.waitForSelector("[data-do=revise]"); await press(p, "n"); await p.waitForSelector("[data-draft]"); await armed(p); } },
  { name: "08-revise-unknown", hash: "#/action/A-2038", after: async (p) => { await p.waitForSelector("[data-do=revise]"); await press(p, "n"); await p.click("[data-do=go]"); await p.waitForSelector("[data-draft]"); await armed(p); } },
  { name: "09-destinations", hash: "#/destinations" },
  { name: "09-destinations-test", hash: "#/destinations", after: async (p) => { await p.click("[data-do=test]"); await p.waitForSelector("[data-probe=done] >> nth=4"); } },
  { name: "10-kinds", hash: "#/destinations", after: async (p) => { await p.click("[data-do=add]"); await p.waitForSelector("[data-kind=resend]"); } },
  { name: "10-add-resend", hash: "#/destinations", after: async (p) => { await p.click("[data-do=add]"); await p.click("[data-kind=resend]"); await p.waitForSelector("#k-from"); } },
  { name: "11-sources", hash: "#/sources", after: (p) => p.waitForSelector(".perms") },
  { name: "11-add-source", hash: "#/sources", after: async (p) => { await p.click("[data-do=add]"); await p.click("dialog .ck >> nth=0"); } },
  { name: "11-token", hash: "#/sources", after: async (p) => { await p.click("[data-do=add]"); await p.fill("#src-name", "night-agent"); await p.click("dialog .ck >> nth=0"); await p.click("dialog fieldset >> nth=1 >> .ck >> nth=0"); await p.click("[data-do=add-source]"); await p.waitForSelector(".once"); } },
  { name: "15-palette", after: async (p) => { await armed(p); await press(p, "Control+k"); await p.waitForSelector(".pal__o"); } },
  { name: "15-palette-found", after: async (p) => { await armed(p); await press(p, "Control+k"); await p.keyboard.type("jürgen"); await p.waitForSelector("[id^=pal-r-]"); } },
  { name: "02-file", hash: "#/awaiting/A-2042", after: async (p) => { await p.click("[data-do=file]"); await p.waitForSelector(".fileview"); } },
  { name: "03-edit-file", hash: "#/edit/A-2041", after: async (p) => { await p.setInputFiles("[data-file]", { name: "Übersicht März.txt", mimeType: "text/plain", buffer: Buffer.from("Zeiten") }); await p.waitForSelector(".att"); } },
  { name: "settings", hash: "#/settings", after: (p) => p.waitForSelector("#s-file") },
  { name: "settings-quiet", hash: "#/settings", after: async (p) => { await p.click("[data-do=quiet-hours]"); await p.waitForSelector("#s-from"); } },
  { name: "quit", hash: "#/awaiting/A-2041", after: async (p) => { await armed(p); await press(p, "Control+Enter"); await p.waitForSelector("[data-toast]"); await p.evaluate(() => window.__fake.quit()); await p.waitForSelector("dialog[open]"); } },
  { name: "05-unknown-repeat", hash: "#/unknown/A-2054", after: (p) => p.waitForSelector("[data-offer=finish] button") },
  { name: "10-add-address", hash: "#/destinations", after: addUntil(1) },
  { name: "10-add-servers", hash: "#/destinations", after: addUntil(2) },
  { name: "10-add-test", hash: "#/destinations", after: addUntil(3) },
  { name: "10-add-stopped", hash: "#/destinations", after: addUntil(4) },
  { name: "13-first", query: "?first" },
  { name: "13-first-nostore", query: "?first&nokeychain", after: async (p) => { await p.fill("input", "Noor Brackley"); await p.click("[data-do=sandbox]"); await p.waitForSelector("[data-passphrase]"); } },
  { name: "13b-sandbox", query: "?first", after: async (p) => { await p.fill("input", "Noor Brackley"); await p.click("[data-do=sandbox]"); await p.waitForSelector(".guide"); await armed(p); } },
  { name: "14-empty", query: "?empty", after: (p) => p.waitForSelector(".empty") },
  { name: "14-empty-way", query: "?empty", hash: "#/on-the-way", after: (p) => p.waitForSelector(".empty") },
  { name: "14-empty-unknown", query: "?empty", hash: "#/unknown", after: (p) => p.waitForSelector(".empty") },
  { name: "14-empty-history", query: "?empty", hash: "#/history", after: (p) => p.waitForSelector(".empty") },
  { name: "14c-frozen", query: "?frozen=restored", after: armed },
  { name: "14c-take-over", query: "?frozen=copied", after: async (p) => { await p.click("[data-do=lift]"); await p.waitForSelector("dialog[open]"); } },
  { name: "14c-broken", query: "?frozen=integrity", after: armed },
  { name: "14c-locked", query: "?locked", after: armed },
  { name: "14c-unlock", query: "?locked", after: async (p) => { await p.click("[data-do=open-unlock]"); await p.waitForSelector("dialog[open]"); } },
  { name: "14c-off", query: "?sending=0", after: armed },
  { name: "14c-nokeychain", query: "?nokeychain", after: armed },
  { name: "14c-down", query: "?down", after: armed },
  { name: "14-empty-review", query: "?empty", hash: "#/needs-review", after: (p) => p.waitForSelector(".empty") },
  { name: "14-gone", hash: "#/action/A-9999", after: (p) => p.waitForSelector(".empty") },
  { name: "14c-other", query: "?other", after: armed },
  { name: "15b-keys", after: async (p) => { await armed(p); await press(p, "?"); await p.waitForSelector("dialog[open]"); } },
  { name: "16-reject", after: async (p) => { await armed(p); await press(p, "x"); await p.waitForSelector("dialog[open]"); } },
  { name: "21-identity", hash: "#/needs-review/A-2036", after: (p) => p.waitForSelector(".review") },
  { name: "21-situation", hash: "#/needs-review/A-2035", after: (p) => p.waitForSelector(".review") },
  { name: "21-put-back", hash: "#/needs-review/A-2034", after: armed },
  { name: "21-refused", hash: "#/needs-review/A-2033", after: (p) => p.waitForSelector(".review") },
  { name: "21-gave-up", hash: "#/needs-review/A-2032", after: armed },
  { name: "21-conflict", hash: "#/needs-review/n-d-7779", after: (p) => p.waitForSelector(".facts") },
  { name: "21-not-taken", hash: "#/needs-review/n-d-7781", after: (p) => p.waitForSelector(".facts") },
  { name: "22-way", hash: "#/on-the-way", after: (p) => p.waitForSelector(".act") },
];
