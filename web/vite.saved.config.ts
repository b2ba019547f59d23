import { defineConfig } from "vite";

/** The page that stands inside of a saved run: one script and one sheet, to be put into the file by the server. */
export default defineConfig({
  publicDir: false,
  build: {
    outDir: "../src/ramify/web/static/saved",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    rollupOptions: {
      input: "src/saved.tsx",
      output: { format: "iife", entryFileNames: "saved.js", assetFileNames: "saved.[ext]", inlineDynamicImports: true },
    },
  },
});
