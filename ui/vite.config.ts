import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

// The page runs under this policy in the real window (tauri.conf.json). Serving the preview with it too means that
// the browser tests see the same refusals. The preview has no ipc, so nothing else may be fetched.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
  "connect-src ipc: http://ipc.localhost; frame-src 'self'; base-uri 'none'; form-action 'none'; object-src 'none'";

export default defineConfig({
  base: "./",
  plugins: [svelte()],
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  preview: { host: "127.0.0.1", headers: { "Content-Security-Policy": policy } },
  server: { host: "127.0.0.1" },
  // The tests that read every source parse a hundred files: a busy machine takes its time.
  test: { include: ["tests/**/*.test.ts"], testTimeout: 60_000 },
});
