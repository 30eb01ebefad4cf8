// npm run e2e: serves the built page, walks it by keyboard, asks axe about each screen in both themes and takes pictures
// into the folder named by UI_RESULTS. Any console error or refusal by the page's policy is a failure.
// Two browsers work side by side, each on a page of its own; nothing here waits for a fixed time, so that a busy machine
// is slower and not redder. E2E_WIDE names another number.

import { AsyncLocalStorage } from "node:async_hooks";
import { readFileSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { adaptations, adapted } from "./adapt.mjs";
import { focus, unreached } from "./focus.mjs";
import { guards } from "./guards.mjs";
import { journeys } from "./journeys.mjs";
import { sizes, speak, spoken, squeezed } from "./languages.mjs";
import { screens, tick } from "./screens.mjs";
import { stage } from "./stage.mjs";
import { times } from "./times.mjs";
import { told as tellings } from "./told.mjs";
import { views } from "./views.mjs";
import { writing } from "./writing.mjs";

const folder = process.env.UI_RESULTS ?? new URL("../test-results", import.meta.url).pathname;
const only = process.argv[2] ?? "";
mkdirSync(folder, { recursive: true });
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const runOnly = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
const wide = Math.max(1, Number(process.env.E2E_WIDE ?? 2));
const first = await stage();
const stages = [first, ...(await Promise.all(Array.from({ length: wide - 1 }, () => stage(first.base))))];
let failed = 0;
let passed = 0;

const reasons = new Map();
/** What the piece of work that runs found: [name, whether it is so, why not]. */
const found = new AsyncLocalStorage();
const told = (name, ok, why = "") => void found.getStore().push([name, ok, why]);
const counted = ([name, ok, why]) => {
  if (ok) return void passed++;
  failed++;
  // The same fault on many screens is one fault.
  const same = reasons.get(why) ?? 0;
  reasons.set(why, same + 1);
  if (same === 0) console.log(`FAIL ${name}${why ? `\n     ${why}` : ""}`);
};
const picture = (page, name) => page.screenshot({ path: `${folder}/${name}.png` });
/** What axe finds. Colours are the same in every language, and nothing but colours is another in the dark. */
const asked = async (page, options) => {
  const result = await page.evaluate((given) => window.axe.run(document, { resultTypes: ["violations"], ...given }), options);
  return result.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 140)).join(" ;; ")}`);
};
const all = { runOnly };
const colours = { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } };
const words = { runOnly, rules: { "color-contrast": { enabled: false }, "link-in-text-block": { enabled: false } } };

const reach = async (page, screen, name) => {
  try {
    await screen.after?.(page);
  } catch (error) {
    told(`reach ${name}`, false, error.message.split("\n")[0]);
  }
  await page.evaluate(axe);
};

const walked = ([name, where, walk]) => async (show) => {
  const page = await show.page(where);
  try {
    await walk(page);
    told(name, page.problems.length === 0, page.problems.join(" | "));
  } catch (error) {
    await picture(page, `failed-${name}`).catch(() => undefined);
    told(name, false, `${error.message.split("\n").slice(0, 6).join(" ")} ${page.problems.join(" | ")}`);
  }
  await show.done(page);
};

// Each screen in light and dark, at 1280 and at 960.
const drawn = (screen) => async (show) => {
  const page = await show.page({ query: screen.query, hash: screen.hash });
  await reach(page, screen, screen.name);
  const looks = { light: { width: 1280, height: 800, ask: all }, dark: { width: 1280, height: 800, dark: true, ask: colours }, narrow: { width: 960, height: 640, ask: all } };
  for (const [size, view] of Object.entries(looks)) {
    const name = `axe ${screen.name} ${size}`;
    try {
      await page.emulateMedia({ colorScheme: view.dark ? "dark" : "light" });
      await page.setViewportSize({ width: view.width, height: view.height });
      await tick(page);
      await picture(page, `${screen.name}-${size}`);
      const faults = await asked(page, view.ask);
      if (await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth)) faults.push("wider than the window");
      faults.push(...page.problems);
      told(name, faults.length === 0, faults.join("\n     "));
    } catch (error) {
      told(name, false, error.message.split("\n")[0]);
    }
  }
  try {
    await page.setViewportSize(sizes.wide);
    const faults = await unreached(page);
    told(`tab ${screen.name}`, faults.length === 0, faults.join("\n     "));
  } catch (error) {
    told(`tab ${screen.name}`, false, error.message.split("\n")[0]);
  }
  await show.done(page);
};

// What a person may have set for their whole desktop: forced colours, no motion, text twice as large. Each screen is asked
// once for each: nothing is lost, nothing is wider than the window, what has the focus is seen.
const set = (screen) => async (show) => {
  for (const [name, check] of Object.entries(adaptations)) {
    const page = await show.page({ query: screen.query, hash: screen.hash, ...check.view });
    try {
      await screen.after?.(page);
      await check.set(page);
      await tick(page);
      await picture(page, `${screen.name}-${name}`);
      const faults = [...(await check.faults(page)), ...page.problems];
      told(`${name} ${screen.name}`, faults.length === 0, faults.join("\n     "));
    } catch (error) {
      told(`${name} ${screen.name}`, false, error.message.split("\n")[0]);
    }
    await page.emulateMedia({ forcedColors: "none" });
    await show.done(page);
  }
};

// Every screen in the other languages: longer words, and the whole window from right to left.
const translated = (screen, language) => async (show) => {
  const page = await show.page({ query: screen.query, hash: screen.hash, language });
  await reach(page, screen, `${screen.name} ${language}`);
  for (const [size, view] of Object.entries(sizes)) {
    const name = `${language} ${screen.name} ${size}`;
    try {
      await page.setViewportSize(view);
      await tick(page);
      if (size === "wide") await picture(page, `${screen.name}-${language}-${size}`);
      const faults = [...(await squeezed(page)), ...(await speak(page, language)), ...page.problems, ...(await asked(page, words))];
      if (faults.length && size !== "wide") await picture(page, `${screen.name}-${language}-${size}`);
      told(name, faults.length === 0, faults.join("\n     "));
    } catch (error) {
      told(name, false, error.message.split("\n")[0]);
    }
  }
  await show.done(page);
};

const chosen = screens.filter((s) => !only || s.name.includes(only));
const work = [
  ...[...focus, ...journeys, ...guards, ...times, ...tellings, ...views, ...writing].filter(([name]) => name.includes(only)).map(walked),
  ...chosen.map(drawn),
  ...chosen.filter((s) => adapted.has(s.name)).map(set),
  ...Object.keys(spoken).flatMap((language) => screens.filter((s) => !only || s.name.includes(only) || only === language).map((screen) => translated(screen, language))),
];
// What fails beside other work is looked at once more, alone in a browser of its own, and said aloud: two browsers on two
// busy cores may be slower than a check thought of. What fails there fails.
const again = [];
await Promise.all(
  stages.map(async (show) => {
    for (let next = work.shift(); next; next = work.shift()) {
      const results = [];
      await found.run(results, () => next(show));
      const faults = results.filter(([, ok]) => !ok);
      if (faults.length === 0) results.forEach(counted);
      else again.push([next, faults]);
    }
  }),
);
for (const [piece, faults] of again) {
  console.log(`AGAIN, alone: ${faults.map(([name, , why]) => `${name}: ${why}`).join("\n     ")}`);
  const show = await stage(first.base);
  const results = [];
  await found.run(results, () => piece(show));
  results.forEach(counted);
  await show.end();
}
await Promise.all(stages.slice(1).map((show) => show.end()));
await first.end();
console.log(`${passed} passed, ${failed} failed; pictures in ${folder}`);
process.exitCode = failed ? 1 : 0;
