// Pictures of each screen in each size, to be looked at beside the mock-ups: node e2e/shots.mjs [folder] [only]

import { mkdirSync } from "node:fs";
import { screens } from "./screens.mjs";
import { stage } from "./stage.mjs";

const folder = process.argv[2] ?? "test-results/shots";
const only = process.argv[3] ?? "";
const sizes = { 1280: { width: 1280, height: 800 }, 960: { width: 960, height: 640 }, 1600: { width: 1600, height: 1000 }, dark: { width: 1280, height: 800, dark: true } };
mkdirSync(folder, { recursive: true });
const show = await stage();
for (const screen of screens.filter((s) => s.name.includes(only)))
  for (const size of (process.env.SIZES ?? "1280,960,dark").split(",")) {
    const page = await show.page({ ...sizes[size], query: screen.query, hash: screen.hash });
    try {
      await screen.after?.(page);
    } catch (error) {
      console.log(`${screen.name}: ${error.message.split("\n")[0]}`);
    }
    await page.screenshot({ path: `${folder}/${screen.name}-${size}.png` });
    if (page.problems.length) console.log(`${screen.name}-${size}:`, [...new Set(page.problems)].join(" | ").slice(0, 400));
    await page.context().close();
  }
await show.end();
