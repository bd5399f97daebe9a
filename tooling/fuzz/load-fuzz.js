import { fileURLToPath } from "node:url";
import { loadSources } from "@remat/testkit/load-sources";

export const fuzzPath = fileURLToPath(new URL("src/index.ts", import.meta.url));

/**
 * Loads the fuzzers from their sources.
 *
 * @returns {Promise<{ fuzz: typeof import("./src/index.js"), invoke: (asked: any) => Promise<any>, close: () => Promise<void> }>} `invoke` answers
 * processes of campaigns
 */
export async function loadFuzz() {
  const { module, invoke, close } = await loadSources(fuzzPath);
  return { fuzz: /** @type {typeof import("./src/index.js")} */ (module), invoke, close };
}
