// Pictures of each screen in each size, to be looked at beside the mock-ups: node e2e/shots.mjs [folder] [only]

import { mkdirSync } from "node:fs";
import { stage } from "./stage.mjs";

const folder = process.argv[2] ?? "test-results/shots";
const only = process.argv[3] ?? "";
mkdirSync(folder, { recursive: true });

const tick = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const press = async (page, ...keys) => {
  for (const key of keys) await page.keyboard.press(key);
  await tick(page);
};

export const screens = [
  { name: "01-awaiting" },
  { name: "02-bundle", hash: "#/awaiting/A-2042", after: (p) => press(p, "c") },
  { name: "02-unseen", hash: "#/awaiting/A-2048", after: (p) => press(p, "c") },
  { name: "03-edit", hash: "#/edit/A-2041", after: async (p) => { await p.fill("[data-draft] textarea", (await p.inputValue("[data-draft] textarea")).replace("between 9 and", "between 10 and").replace("tell me by", "please call me by").replace("no extra charge.", "no extra charge. Please keep the entrance free for about 20 minutes.")); await tick(p); await tick(p); } },
  { name: "03-edit-changes", hash: "#/edit/A-2041", after: async (p) => { await p.fill("[data-draft] textarea", (await p.inputValue("[data-draft] textarea")).replace("between 9 and", "between 10 and").replace("tell me by", "please call me by").replace("no extra charge.", "no extra charge. Please keep the entrance free for about 20 minutes.")); await p.click("[role=radio] >> nth=1"); await tick(p); await tick(p); } },
  { name: "04-held", hash: "#/awaiting/A-2041", after: async (p) => { await p.waitForSelector("[data-armed=true]"); await press(p, "Control+Enter"); await p.waitForSelector("[data-toast]"); await p.click("[role=option] >> nth=0"); await tick(p); } },
  { name: "04-toast", hash: "#/awaiting/A-2041", after: async (p) => { await p.waitForSelector("[data-armed=true]"); await press(p, "Control+Enter"); await p.waitForSelector("[data-toast]"); await tick(p); } },
  { name: "05-unknown", hash: "#/unknown" },
  { name: "05-proof", hash: "#/unknown", after: async (p) => { await p.waitForSelector(".opts"); await press(p, "p"); } },
  { name: "06-history", hash: "#/history" },
  { name: "06-nomatch", hash: "#/history", after: async (p) => { await p.fill("[data-search]", "bench 4417"); await p.waitForSelector(".empty", { timeout: 4000 }); } },
  { name: "07-record", hash: "#/action/A-1986" },
  { name: "07-record-unknown", hash: "#/action/A-2038" },
  { name: "08-revise", hash: "#/action/A-1986", after: async (p) => { await p.waitForSelector("[data-do=revise]"); await press(p, "n"); await p.waitForSelector("[data-draft]"); await tick(p); } },
  { name: "09-destinations", hash: "#/destinations" },
  { name: "10-add-1", hash: "#/destinations", after: async (p) => { await p.click("[data-do=add]"); await p.fill("#m-from", "hello@brackenhall.example"); await press(p, "Tab"); await tick(p); } },
  { name: "10-add-3", hash: "#/destinations", after: async (p) => { await p.click("[data-do=add]"); await p.fill("#m-from", "hello@brackenhall.example"); await press(p, "Tab"); await p.fill("#m-password", "secret"); await press(p, "Enter"); await press(p, "Enter"); await p.waitForSelector("[data-do=finish][aria-disabled=false]"); } },
  { name: "13-first", query: "?first" },
  { name: "13b-sandbox", query: "?first", after: async (p) => { await p.fill("input", "Noor Brackley"); await p.click("[data-do=sandbox]"); await p.waitForSelector(".guide"); await tick(p); } },
  { name: "14-empty", query: "?empty" },
  { name: "14-empty-way", query: "?empty", hash: "#/on-the-way" },
  { name: "14c-frozen", query: "?frozen=restored" },
  { name: "14c-locked", query: "?locked" },
  { name: "14c-unlock", query: "?locked", after: (p) => p.click("[data-do=open-unlock]") },
  { name: "14c-off", query: "?sending=0" },
  { name: "15b-keys", after: (p) => press(p, "?") },
  { name: "16-reject", after: async (p) => { await p.waitForSelector(".sign"); await press(p, "x"); } },
  { name: "21-review", hash: "#/needs-review/A-2036" },
  { name: "21-situation", hash: "#/needs-review/A-2035" },
  { name: "21-putback", hash: "#/needs-review/A-2034" },
  { name: "21-refused", hash: "#/needs-review/A-2033" },
  { name: "21-gaveup", hash: "#/needs-review/A-2032" },
  { name: "21-nottaken", hash: "#/needs-review/n-d-7781" },
  { name: "22-way", hash: "#/on-the-way" },
];

const show = await stage();
const sizes = (process.env.SIZES ?? "1280,960,dark").split(",");
for (const screen of screens) {
  if (only && !screen.name.includes(only)) continue;
  for (const size of sizes) {
    const page = await show.page({ width: size === "960" ? 960 : size === "1600" ? 1600 : 1280, height: size === "960" ? 640 : size === "1600" ? 1000 : 800, dark: size === "dark", query: screen.query, hash: screen.hash });
    try {
      await page.waitForTimeout(250);
      await screen.after?.(page);
      await page.waitForTimeout(150);
    } catch (error) {
      console.log(`${screen.name}: ${error.message.split("\n")[0]}`);
    }
    await page.screenshot({ path: `${folder}/${screen.name}-${size}.png` });
    if (page.problems.length) console.log(`${screen.name}-${size}:`, [...new Set(page.problems)].join(" | ").slice(0, 400));
    await page.context().close();
  }
}
await show.end();
