#!/usr/bin/env node
// Bundles each pure package for a browser and compares its size, minified and compressed, with the budget in .size-limit.json. A pure package
// that reaches for a Node module does not bundle at all. `pnpm size` prints a line for each and exits with 1 if one is over.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildPackages } from "./src/build-packages.js";
import { CommandError, runCommand } from "./src/run-command.js";

const require = createRequire(import.meta.url);
const manifest = require.resolve("size-limit/package.json");
const bin = join(dirname(manifest), require(manifest).bin);
const cwd = fileURLToPath(new URL(".", import.meta.url));

await buildPackages();
const output = await runCommand(process.execPath, [bin, "--json"], { cwd }).catch((error) => {
  // Over budget is a failure, too, with the same output.
  if (error instanceof CommandError && error.output.trimStart().startsWith("[")) return error.output;
  throw error;
});
for (const { name, passed, size, sizeLimit } of JSON.parse(output)) {
  if (!passed) process.exitCode = 1;
  const kB = (/** @type {number} */ bytes) => `${(bytes / 1000).toFixed(2)} kB`;
  console.log(`${passed ? "ok     " : "not ok "} ${name}: ${kB(size)} of ${kB(sizeLimit)}`);
}
