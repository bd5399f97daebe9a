import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { bundleAgent } from "../bundle-agent.js";

/**
 * Bundles what is loaded into programs, from sources, once for all files. Returns a function that removes it. The folder
 * is inside the package, because the bundle imports packages by name.
 */
export default async function setup(): Promise<() => void> {
  const folder = fileURLToPath(new URL(`../node_modules/.remat-test/${process.pid}`, import.meta.url));
  await bundleAgent(folder, ["@remat/source"]);
  process.env["TEST_AGENT_FOLDER"] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
