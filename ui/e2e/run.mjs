// npm run e2e: serves the built page, walks it by keyboard, asks axe about each screen in both themes and takes pictures
// into the folder named by UI_RESULTS. Any console error or refusal by the page's policy is a failure.

import { readFileSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { adaptations, adapted } from "./adapt.mjs";
import { guards } from "./guards.mjs";
import { journeys } from "./journeys.mjs";
import { sizes, speak, spoken, squeezed } from "./languages.mjs";
import { screens } from "./screens.mjs";
import { stage } from "./stage.mjs";
import { views } from "./views.mjs";
import { writing } from "./writing.mjs";

const folder = process.env.UI_RESULTS ?? new URL("../test-results", import.meta.url).pathname;
const only = process.argv[2] ?? "";
mkdirSync(folder, { recursive: true });
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
const show = await stage();
let failed = 0;
let passed = 0;

const reasons = new Map();
const told = (name, ok, why = "") => {
  if (ok) return void passed++;
  failed++;
  // The same fault on many screens is one fault.
  const same = reasons.get(why) ?? 0;
  reasons.set(why, same + 1);
  if (same === 0) console.log(`FAIL ${name}${why ? `\n     ${why}` : ""}`);
};

for (const [name, where, walk] of [...journeys, ...guards, ...views, ...writing].filter(([name]) => name.includes(only))) {
  const page = await show.page(where);
  try {
    await walk(page);
    told(name, page.problems.length === 0, page.problems.join(" | "));
  } catch (error) {
    await page.screenshot({ path: `${folder}/failed-${name}.png` }).catch(() => undefined);
    told(name, false, `${error.message.split("\n").slice(0, 6).join(" ")} ${page.problems.join(" | ")}`);
  }
  await page.context().close();
}

for (const screen of screens.filter((s) => !only || s.name.includes(only)))
{
  const page = await show.page({ query: screen.query, hash: screen.hash });
  try {
    await screen.after?.(page);
  } catch (error) {
    told(`reach ${screen.name}`, false, error.message.split("\n")[0]);
  }
  await page.evaluate(axe);
  for (const [size, view] of Object.entries({ light: { width: 1280, height: 800 }, dark: { width: 1280, height: 800, dark: true }, narrow: { width: 960, height: 640 } })) {
    const name = `axe ${screen.name} ${size}`;
    try {
      await page.emulateMedia({ colorScheme: view.dark ? "dark" : "light" });
      await page.setViewportSize({ width: view.width, height: view.height });
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      await page.screenshot({ path: `${folder}/${screen.name}-${size}.png` });
      const result = await page.evaluate((runOnly) => window.axe.run(document, { runOnly, resultTypes: ["violations"] }), tags);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
      told(name, result.violations.length === 0 && !wide && page.problems.length === 0, [wide ? "wider than the window" : "", ...page.problems, ...result.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 140)).join(" ;; ")}`)].filter(Boolean).join("\n     "));
    } catch (error) {
      told(name, false, error.message.split("\n")[0]);
    }
  }
  await page.context().close();
}

// What a person may have set for their whole desktop: forced colours, no motion, text twice as large. Each screen is asked
// once for each: nothing is lost, nothing is wider than the window, what has the focus is seen.
for (const screen of screens.filter((s) => (!only || s.name.includes(only)) && adapted.has(s.name)))
  for (const [name, check] of Object.entries(adaptations)) {
    const page = await show.page({ query: screen.query, hash: screen.hash, ...check.view });
    try {
      await screen.after?.(page);
      await check.set(page);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      await page.screenshot({ path: `${folder}/${screen.name}-${name}.png` });
      const faults = [...(await check.faults(page)), ...page.problems];
      told(`${name} ${screen.name}`, faults.length === 0, faults.join("\n     "));
    } catch (error) {
      told(`${name} ${screen.name}`, false, error.message.split("\n")[0]);
    }
    await page.context().close();
  }

// Every screen in the other languages: longer words, and the whole window from right to left.
for (const language of Object.keys(spoken))
  for (const screen of screens.filter((s) => !only || s.name.includes(only) || only === language)) {
    const page = await show.page({ query: screen.query, hash: screen.hash, language });
    try {
      await screen.after?.(page);
    } catch (error) {
      told(`reach ${screen.name} ${language}`, false, error.message.split("\n")[0]);
    }
    await page.evaluate(axe);
    for (const [size, view] of Object.entries(sizes)) {
      const name = `${language} ${screen.name} ${size}`;
      try {
        await page.setViewportSize(view);
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        await page.screenshot({ path: `${folder}/${screen.name}-${language}-${size}.png` });
        const result = await page.evaluate((runOnly) => window.axe.run(document, { runOnly, resultTypes: ["violations"] }), tags);
        const faults = [...(await squeezed(page)), ...(await speak(page, language)), ...page.problems, ...result.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 140)).join(" ;; ")}`)];
        told(name, faults.length === 0, faults.join("\n     "));
      } catch (error) {
        told(name, false, error.message.split("\n")[0]);
      }
    }
    await page.context().close();
  }

await show.end();
console.log(`${passed} passed, ${failed} failed; pictures in ${folder}`);
process.exitCode = failed ? 1 : 0;
