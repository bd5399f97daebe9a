#!/usr/bin/env node
// Runs tfjs-core's own specs unmodified and with remat's hook, in one process each, and reports those that fail only
// with the hook: `pnpm specs [--backend cpu|native|webgl|webgpu]… [--mode NAME]… [--layers FOLDER] [--minutes N]`,
// where N is the time limit of a mode (10). Native needs NATIVE_APP, a folder with tfjs-node and its addon. webgl and
// webgpu need a Chromium, in which they run on a software GPU. With FOLDER, a checkout of
// https://github.com/tensorflow/tfjs, it runs tfjs-layers' specs, which its npm package does not contain.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { loadSources } from "@remat/testkit/load-sources";
import { bundleSpecs } from "./src/bundle-specs.js";
import { compareRuns, describeStock } from "./src/compare-runs.js";
import { modes } from "./src/modes.js";
import { findNativePackage } from "./src/native-package.js";
import { runSpecs } from "./src/run-specs.js";
import { runSpecsInBrowser } from "./src/run-specs-in-browser.js";

const { values } = parseArgs({
  options: {
    backend: { type: "string", multiple: true },
    mode: { type: "string", multiple: true },
    layers: { type: "string" },
    minutes: { type: "string" },
  },
});
const layers = values.layers === undefined ? undefined : join(resolve(values.layers), "tfjs-layers/src");
if (layers !== undefined && !existsSync(join(layers, "index.ts")))
  throw new Error(`--layers expects a checkout of https://github.com/tensorflow/tfjs, found no ${layers}/index.ts.`);
const limitMs = 60_000 * Number(values.minutes ?? 10);
if (!(limitMs > 0)) throw new Error(`--minutes expects a number above 0, found ${values.minutes}.`);
const native = findNativePackage(process.env.NATIVE_APP);
const wantedBackends = choose(
  "backend",
  values.backend,
  ["cpu", "native", "webgl", "webgpu"],
  native === undefined ? ["cpu"] : ["cpu", "native"],
);
const wantedModes = choose("mode", values.mode, Object.keys(modes));
if (wantedBackends.includes("native") && native === undefined)
  throw new Error(
    `NATIVE_APP expects a folder in which tfjs-node is installed with its addon, found ${process.env.NATIVE_APP ?? "nothing"}. ` +
      "`remat setup native` makes one and tells its name.",
  );

const { module: testkit, close } = await loadSources(fileURLToPath(import.meta.resolve("@remat/testkit")));
await close();
const folder = mkdtempSync(join(tmpdir(), "remat-specs-"));
let failed = 0;
try {
  for (const backend of wantedBackends) {
    const bundle = join(folder, `${backend}.mjs`);
    await bundleSpecs({ backend, outFile: bundle, nativePackage: native?.folder, layers });
    const isOfPage = backend === "webgl" || backend === "webgpu";
    const run = (/** @type {string} */ mode) =>
      isOfPage
        ? runSpecsInBrowser({ bundle, mode, browserPath: requireBrowser(), limitMs })
        : runSpecs({ bundle, mode, folder, native, limitMs });
    const stock = await run("stock");
    const where = backend === "native" ? `${native?.name}` : backend;
    tell(describeStock(stock, where, layers !== undefined));
    for (const name of wantedModes) {
      const { title, work } = modes[/** @type {keyof typeof modes} */ (name)];
      tell(compareRuns(stock, await run(name), `${where}, ${title}`, work));
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (failed > 0) process.exitCode = 1;

/** @param {Iterable<string>} lines about the last run */
function tell(lines) {
  for (const line of lines) {
    console.log(line);
    if (line.startsWith("not ok")) failed++;
  }
}

function requireBrowser() {
  const browserPath = testkit["findBrowser"]();
  if (browserPath === undefined) throw new Error("webgl and webgpu need a Chromium: CHROMIUM=/path/to/chromium.");
  return browserPath;
}

/**
 * @param {string} option
 * @param {readonly string[] | undefined} wanted
 * @param {readonly string[]} known
 * @param {readonly string[]} [otherwise]
 */
function choose(option, wanted, known, otherwise = known) {
  for (const name of wanted ?? [])
    if (!known.includes(name)) throw new Error(`--${option} expects one of ${known.join(", ")}, found ${name}.`);
  return wanted ?? otherwise;
}
