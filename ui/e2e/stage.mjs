// Serves the built page under the window's policy and drives Chromium over it.

import { preview } from "vite";
import { chromium } from "playwright-core";

const quiet = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-color-profile=srgb"];

export async function stage() {
  process.env.CI = "true";
  const server = await preview({ configFile: new URL("../vite.config.ts", import.meta.url).pathname, root: new URL("..", import.meta.url).pathname, preview: { port: 0, strictPort: false }, logLevel: "error" });
  const address = server.httpServer.address();
  const base = `http://127.0.0.1:${address.port}/`;
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: quiet });
  return {
    base,
    browser,
    async page({ width = 1280, height = 800, dark = false, reduced = true, query = "", hash = "", language = "", locale = "en-GB" } = {}) {
      const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", reducedMotion: reduced ? "reduce" : "no-preference", locale, timezoneId: "Europe/Berlin", permissions: ["clipboard-read", "clipboard-write"] });
      if (language) await context.addInitScript((chosen) => {
        try {
          localStorage.setItem("language", chosen);
        } catch {
          // A frame with a formatted mail has no storage of its own.
        }
      }, language);
      const page = await context.newPage();
      page.setDefaultTimeout(8000);
      page.problems = [];
      page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning") page.problems.push(message.text());
      });
      page.on("pageerror", (error) => page.problems.push(String(error)));
      await page.goto(`${base}${query}${hash}`);
      await page.waitForSelector("html[data-ready]");
      return page;
    },
    async end() {
      await browser.close();
      await server.close();
    },
  };
}
