// Serves the built page under the window's policy and drives Chromium over it.

import { preview } from "vite";
import { chromium } from "playwright-core";

const quiet = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-color-profile=srgb"];

/** One browser; the page's server is shared by those that name it in `base`. */
export async function stage(shared = "") {
  process.env.CI = "true";
  const server = shared ? null : await preview({ configFile: new URL("../vite.config.ts", import.meta.url).pathname, root: new URL("..", import.meta.url).pathname, preview: { port: 0, strictPort: false }, logLevel: "error" });
  const base = shared || `http://127.0.0.1:${server.httpServer.address().port}/`;
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: quiet });
  /** A context keeps what it compiled of the page for the next one that is shown alike; what the page kept is taken away. */
  const free = new Map();
  return {
    base,
    browser,
    async page({ width = 1280, height = 800, dark = false, reduced = true, query = "", hash = "", language = "", locale = "en-GB" } = {}) {
      const kind = `${language} ${reduced} ${locale}`;
      const context = free.get(kind)?.pop() ?? (await browser.newContext({ viewport: { width, height }, reducedMotion: reduced ? "reduce" : "no-preference", locale, timezoneId: "Europe/Berlin", permissions: ["clipboard-read", "clipboard-write"] }));
      if (language && !context.speaks) await context.addInitScript((chosen) => {
        try {
          localStorage.setItem("language", chosen);
        } catch {
          // A frame with a formatted mail has no storage of its own.
        }
      }, language);
      context.speaks = language;
      const page = await context.newPage();
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme: dark ? "dark" : "light", reducedMotion: reduced ? "reduce" : "no-preference" });
      // For a machine that has other work: what comes at all comes in this time.
      page.setDefaultTimeout(30_000);
      page.kind = kind;
      page.problems = [];
      page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning") page.problems.push(message.text());
      });
      page.on("pageerror", (error) => page.problems.push(String(error)));
      await page.goto(`${base}${query}${hash}`);
      await page.waitForSelector("html[data-ready]");
      return page;
    },
    /** The next page of this kind starts as the first one did. */
    async done(page) {
      const context = page.context();
      const clean = await page.evaluate(() => {
        localStorage.clear();
        sessionStorage.clear();
      }).then(() => true, () => false);
      await page.close();
      if (clean && context.pages().length === 0) free.set(page.kind, [...(free.get(page.kind) ?? []), context]);
      else await context.close();
    },
    async end() {
      await browser.close();
      await server?.close();
    },
  };
}
