import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";
import { loadTrace } from "../src/load-trace.js";
import { modelSource } from "../src/model-source.js";
import type { PresentStepOptions } from "../src/what-if/present-step.js";
import * as fromSources from "../src/what-if/usual-what-ifs.js";

/** Below the package, so that tfjs is found from there. */
const folder = fileURLToPath(new URL(`../node_modules/.remat-test/${process.pid}-what-if`, import.meta.url));
const sourceOf = (name: string): string => fileURLToPath(new URL(`../src/what-if/${name}.ts`, import.meta.url));
const silent = { show() {} };
mkdirSync(folder, { recursive: true });
const model = `${folder}/deep.js`;
writeFileSync(
  model,
  `export default ({ tf }) => tf.sequential({
  layers: Array.from({ length: 170 }, () => tf.layers.dense({ units: 4, activation: "relu", inputShape: [4] })),
});\n`,
);
const given: PresentStepOptions = {
  source: modelSource(model),
  options: { request: { batch: 2 }, data: undefined },
  pricing: { device: { ...deviceSpec("a100"), memoryBytes: 2 ** 20 }, isAsked: false },
};
const signal = new AbortController().signal;
let bundled: typeof fromSources;

beforeAll(async () => {
  await build({
    entryPoints: ["usual-what-ifs", "what-if-worker"].map(sourceOf),
    outdir: folder,
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    conditions: ["@remat/source"],
    external: ["@tensorflow/*", "highs"],
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
    logLevel: "error",
  });
  bundled = await import(/* @vite-ignore */ `${folder}/usual-what-ifs.js`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("is in a thread what it is here", async () => {
  const trace = priceTrace(await loadTrace(given.source, given.options, silent), given.pricing.device);
  const beside = bundled.usualWhatIfsBeside(trace, given, signal);
  expect(beside).toBeInstanceOf(Promise);
  const rows = await beside;
  expect(rows).toEqual(await fromSources.usualWhatIfs(trace, given, silent));
  expect(rows?.filter(({ peakBytes }) => peakBytes !== undefined).length).toBeGreaterThan(10);
});

it("is in none where there is no file for one, and where the step was measured", async () => {
  const trace = priceTrace(await loadTrace(given.source, given.options, silent), given.pricing.device);
  expect(fromSources.usualWhatIfsBeside(trace, given, signal)).toBeUndefined();
  trace.ops.runtimeSource[7] = 2;
  expect(bundled.usualWhatIfsBeside(trace, given, signal)).toBeUndefined();
});

it("fails with what ends it, so that it is answered here", async () => {
  const trace = priceTrace(await loadTrace(given.source, given.options, silent), given.pricing.device);
  const broken = { ...given, source: { ...given.source, path: `${model}.gone` } };
  await expect(bundled.usualWhatIfsBeside(trace, broken, signal)).rejects.toThrow("no such file");
});
