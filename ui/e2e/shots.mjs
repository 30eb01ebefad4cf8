// Pictures of each screen in each size, to be looked at beside the mock-ups: node e2e/shots.mjs [folder] [only]
// SIZES and LANGUAGES name fewer or others. A screen is reached once and then shown in each size, as a person drags a window.

import { mkdirSync } from "node:fs";
import { screens, tick } from "./screens.mjs";
import { stage } from "./stage.mjs";

const folder = process.argv[2] ?? "test-results/shots";
const only = process.argv[3] ?? "";
// 640 by 400 is what a window of 1280 by 800 has left at 200 %.
const sizes = { 1280: { width: 1280, height: 800 }, 960: { width: 960, height: 640 }, 1600: { width: 1600, height: 1000 }, dark: { width: 1280, height: 800, dark: true }, 200: { width: 640, height: 400 } };
const chosen = (process.env.SIZES ?? Object.keys(sizes).join(",")).split(",");
const languages = (process.env.LANGUAGES ?? "").split(",");
mkdirSync(folder, { recursive: true });
const show = await stage();
const work = languages.flatMap((language) => screens.filter((s) => s.name.includes(only)).map((screen) => ({ screen, language })));
const take = async () => {
  for (let next = work.shift(); next; next = work.shift()) {
    const { screen, language } = next;
    const page = await show.page({ query: screen.query, hash: screen.hash, language });
    try {
      await screen.after?.(page);
    } catch (error) {
      console.log(`${screen.name}: ${error.message.split("\n")[0]}`);
    }
    for (const size of chosen) {
      await page.emulateMedia({ colorScheme: sizes[size].dark ? "dark" : "light" });
      await page.setViewportSize({ width: sizes[size].width, height: sizes[size].height });
      await tick(page);
      await tick(page);
      await page.screenshot({ path: `${folder}/${screen.name}${language && `-${language}`}-${size}.png` });
    }
    if (page.problems.length) console.log(`${screen.name}:`, [...new Set(page.problems)].join(" | ").slice(0, 400));
    await show.done(page);
  }
};
await Promise.all([take(), take()]);
await show.end();
