// Loads the fuzzers from their sources, and those of the packages, whatever may be built.
import { fileURLToPath } from "node:url";
import { createServer } from "vite";

const conditions = ["@remat/source", "node", "import", "module", "default"];

/** @returns {Promise<{ fuzz: typeof import("./src/index.js"), close: () => Promise<void> }>} */
export async function loadSources() {
  const vite = await createServer({
    configFile: false,
    logLevel: "error",
    appType: "custom",
    server: { middlewareMode: true, ws: false, watch: null },
    ssr: { noExternal: [/^@remat\//], resolve: { conditions } },
  });
  const fuzz = await vite.ssrLoadModule(fileURLToPath(new URL("src/index.ts", import.meta.url)));
  return { fuzz: /** @type {typeof import("./src/index.js")} */ (fuzz), close: () => vite.close() };
}
