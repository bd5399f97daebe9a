#!/usr/bin/env node
// One training step with batch 2 of the models of keras.applications, within half of the baseline's memory, on the
// native backend. Losses, gradients and weights must be bitwise identical to the baseline's. Prints a line for each
// model and exits with 1 if one exceeds the budget or differs.
// Usage: pnpm bench:keras [--models MobileNetV3Small,…] [--generation 3] [--parameters 30e6] [--plan-seconds 20]
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { brotliDecompressSync } from "node:zlib";

const pathOf = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const { values: options } = parseArgs({
  options: {
    models: { type: "string" },
    generation: { type: "string" },
    parameters: { type: "string", default: "30e6" },
    "plan-seconds": { type: "string", default: "20" },
  },
});
const packed = readFileSync(pathOf("../../packages/keras-loader/test/fixtures/applications.json.br"));
const applications = JSON.parse(brotliDecompressSync(packed).toString("utf8"));
const named = options.models?.split(",");
const wanted = Object.entries(applications)
  .filter(([generation]) => options.generation === undefined || options.generation === generation)
  .flatMap(([generation, models]) => Object.entries(models).map(([name, model]) => ({ generation, name, ...model })))
  .filter(({ name, parameters }) => (named?.includes(name) ?? true) && parameters <= Number(options.parameters));
if (wanted.length === 0) {
  console.error("bench:keras: no model is so called and so small. Expected names as in keras.applications: ResNet50.");
  process.exit(2);
}

const share = 0.5;
const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
const folder = mkdtempSync(join(tmpdir(), "remat-keras-"));

/** Runs in a separate process, in the folder from which the native backend is found. */
function takeStep({ topology }) {
  const path = join(folder, "model.json");
  writeFileSync(path, JSON.stringify(topology));
  const step = ["--batch", "2", "--steps", "1", "--backend", "tensorflow", "--verify", "--format", "json"];
  const plan = ["--budget", `${100 * share}%`, "--time", `${options["plan-seconds"]}s`];
  const cli = pathOf("../../apps/cli/dist/main.js");
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, "run", path, ...step, ...plan], {
    cwd: process.env.NATIVE_APP ?? process.cwd(),
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  return status === 0 ? { run: JSON.parse(stdout) } : { failure: stderr.trim().split("\n")[0] };
}

let failed = 0;
try {
  for (const model of wanted) {
    const { run, failure } = takeStep(model);
    const title = `Keras ${model.generation} ${model.name}, ${(model.parameters / 1e6).toFixed(1)} M`;
    if (run === undefined) {
      failed += 1;
      console.log(`${title}: FAILED ${failure}`);
      continue;
    }
    const { stock, measured, verification } = run;
    const isWithin = measured.peakBytes <= share * stock.peakBytes;
    const isGood = isWithin && verification.isEqual;
    failed += isGood ? 0 : 1;
    console.log(
      `${title}: ${isGood ? "ok" : "FAILED"} ${mebibytes(measured.peakBytes)} of ${mebibytes(stock.peakBytes)} ` +
        `(${((100 * measured.peakBytes) / stock.peakBytes).toFixed(1)}%), ` +
        `${measured.recomputedOps} ops recomputed, ${verification.isEqual ? "equal to stock" : "not equal to stock"}`,
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${wanted.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
