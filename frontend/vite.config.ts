import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = process.env.STUDIO_URL ?? "http://127.0.0.1:8000";

export default defineConfig({
  plugins: [react()],
  resolve: {
    // Plotly pulls in the style sheet of its maps, which no chart here uses.
    alias: { "maplibre-gl/dist/maplibre-gl.css": fileURLToPath(new URL("src/styles/none.css", import.meta.url)) },
    dedupe: ["@codemirror/state", "@codemirror/view", "@codemirror/language", "react", "react-dom"],
  },
  // Parts of Plotly were written for bundlers that supply Node's name of the global object.
  define: { global: "globalThis" },
  server: { proxy: { "/api": server } },
  build: {
    outDir: "../backend/compilemask_studio/_static",
    emptyOutDir: true,
    target: "es2023",
    // Plotly alone is over the default limit; it is its own chunk and loads with the first chart.
    chunkSizeWarningLimit: 1600,
    assetsInlineLimit: 0,
  },
  test: { environment: "happy-dom", include: ["tests/**/*.test.{ts,tsx}"] },
});
