#!/usr/bin/env node
// Bundles each pure package for a browser and compares its size, minified and compressed, with the budget in
// .size-limit.json. A pure package that uses a Node module does not bundle at all. `pnpm size` prints a line for each
// and exits with 1 if one is over.
import { readFileSync } from "node:fs";
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
/** @typedef {{ name: string, passed: boolean, size: number, sizeLimit: number }} Measured */

/**
 * @param {readonly string[]} args
 * @returns {Promise<readonly Measured[] | Error>}
 */
async function measure(...args) {
  try {
    return measuredIn(await runCommand(process.execPath, [bin, "--json", ...args], { cwd })) ?? new Error("no sizes");
  } catch (error) {
    // A package over budget is also a failure, with the same output.
    const measured = error instanceof CommandError ? measuredIn(error.output) : undefined;
    return measured ?? /** @type {Error} */ (error);
  }
}

/**
 * Reads the list, which may follow warnings of the bundler.
 *
 * @param {string} output
 * @returns {readonly Measured[] | undefined}
 */
function measuredIn(output) {
  const at = /^\[$/m.exec(output)?.index;
  return at === undefined ? undefined : JSON.parse(output.slice(at));
}

/** @param {Measured} measured */
function tell({ name, passed, size, sizeLimit }) {
  if (!passed) process.exitCode = 1;
  const kB = (/** @type {number} */ bytes) => `${(bytes / 1000).toFixed(2)} kB`;
  console.log(`${passed ? "ok     " : "not ok "} ${name}: ${kB(size)} of ${kB(sizeLimit)}`);
}

const all = await measure();
if (!(all instanceof Error)) all.forEach(tell);
else {
  // A package that does not bundle stops all measurements. To find it, each package is then measured alone.
  for (const { name, path, limit } of JSON.parse(readFileSync(join(cwd, ".size-limit.json"), "utf8"))) {
    const one = await measure("--limit", limit, path);
    if (!(one instanceof Error)) tell({ ...one[0], name });
    else {
      process.exitCode = 1;
      console.log(`not ok  ${name}: ${/ERROR\] (.*)/.exec(one.message)?.[1] ?? one.message}`);
    }
  }
}
