import { fileURLToPath } from "node:url";
import { loadSources } from "@remat/testkit/load-sources";

/**
 * Loads the fuzzers from their sources.
 *
 * @returns {Promise<{ fuzz: typeof import("./src/index.js"), close: () => Promise<void> }>}
 */
export async function loadFuzz() {
  const { module, close } = await loadSources(fileURLToPath(new URL("src/index.ts", import.meta.url)));
  return { fuzz: /** @type {typeof import("./src/index.js")} */ (module), close };
}
