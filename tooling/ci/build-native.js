#!/usr/bin/env node
// Builds tfjs-node and tfjs-node-gpu with their addons in remat's cache, which outlives a clone, unless they already
// work. Prints a line for each, and writes the folders of those that work to the file named by the first argument.
// Requires built packages.
import { realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setupNative } from "@remat/cli/native";

/** @type {Record<string, string>} */
const folders = {};
/**
 * The TensorFlow that tfjs-node was built against also works for tfjs-node-gpu, which has to fall back to the CPU here.
 */
let tensorflow;
for (const gpu of [false, true]) {
  const name = gpu ? "tfjs-node-gpu" : "tfjs-node";
  try {
    const report = (/** @type {string} */ line) => console.log(`        ${line}`);
    const { folder, built, check } = await setupNative({
      gpu,
      report,
      ...(gpu && tensorflow !== undefined && { tensorflow }),
    });
    const libraries = join(folder, "node_modules/@tensorflow", name, "deps/lib");
    tensorflow ??= dirname(realpathSync(join(libraries, "libtensorflow_cc.so.2")));
    folders[name] = folder;
    const device = check.usesGpu ? "the GPU" : "the CPU";
    console.log(
      `ok      ${name} on TensorFlow ${check.tensorflow} and ${device}, ${built ? "built now" : "as built before"}: ${folder}`,
    );
  } catch (error) {
    console.log(`not ok  ${name}: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
if (process.argv[2] !== undefined) writeFileSync(process.argv[2], JSON.stringify(folders));
