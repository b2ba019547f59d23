import { defineConfig } from "vitest/config";

const server = "http://127.0.0.1:8377";

export default defineConfig({
  build: {
    outDir: "../src/ramify/web/static",
    emptyOutDir: true,
    // The content security policy allows no inline data except images that were captured.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { host: "127.0.0.1", proxy: { "/api": server } },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
