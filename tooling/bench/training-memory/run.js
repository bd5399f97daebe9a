#!/usr/bin/env node
// Memory of training: unmodified TensorFlow.js, early release, and a plan within a bound, on the native CPU backend,
// with bounds next to measurements. Exits with 1 if a bound is missed.
// Usage: pnpm bench:memory [--models resnet50,…] [--steps n] [--sets n] [--plan-seconds n] [--rounds n] [--points n]
// [--skip models,hook,trade-off,batches,trainings] [--write] [--json]
// `--write` puts the measured tables into docs/evidence/benchmarks.md, and the drawing next to it.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { selectBackend } from "@remat/dispatch-hook/backends/node";
import { formatTable } from "@remat/trace/text";
import { putTable } from "../src/put-table.js";
import { isBusy } from "../src/rows.js";
import { drawTradeOff } from "./draw-trade-off.js";
import { measureLargestBatch } from "./largest-batch.js";
import { measureHook, measureModel, measureTradeOff } from "./measure-model.js";
import { measureTrainings } from "./measure-trainings.js";
import { models } from "./models.js";
import { batchesTable, modelsTable, trainingsTable } from "./tables.js";
import { verdictOfBatches, verdictOfHook, verdictsOf, verdictsOfTradeOff, verdictsOfTrainings } from "./verdicts.js";

const { values: options } = parseArgs({
  options: {
    models: { type: "string", default: models.map(({ key }) => key).join(",") },
    steps: { type: "string", default: "12" },
    sets: { type: "string", default: "3" },
    "plan-seconds": { type: "string", default: "60" },
    rounds: { type: "string", default: "120" },
    points: { type: "string", default: "10" },
    skip: { type: "string", default: "" },
    write: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const skipped = new Set(options.skip.split(","));
const wanted = models.filter(({ key }) => options.models.split(",").includes(key));
if (wanted.length === 0) {
  console.error(`bench:memory: expected --models to name some of ${models.map(({ key }) => key).join(", ")}.`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "remat-bench-"));
const tell = (text) => {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${text.slice(0, 100)}`);
};
const effort = {
  steps: Number(options.steps),
  sets: Number(options.sets),
  planMs: 1000 * Number(options["plan-seconds"]),
  rounds: Number(options.rounds),
  points: Number(options.points),
  // Op times are measured again, since the machine's state may have changed.
  timesPath: join(folder, "times.json"),
  from: process.env.NATIVE_APP ?? process.cwd(),
  tell,
};

const results = [];
const batches = [];
const trainings = [];
const verdicts = [];
const curves = [];
try {
  for (const model of skipped.has("models") ? [] : wanted) {
    const figures = await measureModel(model, effort);
    results.push({ model, figures });
    verdicts.push(...verdictsOf(model, figures, isBusy()));
    if (model.key === "resnet50" && !skipped.has("hook"))
      verdicts.push(verdictOfHook(model, await measureHook(figures, effort), isBusy()));
    if (model.hasTradeOff && !skipped.has("trade-off")) {
      const points = await measureTradeOff(figures, { ...effort, steps: Math.min(4, effort.steps) });
      verdicts.push(...verdictsOfTradeOff(model, points));
      curves.push({ title: model.title, stockBytes: figures.stock.measuredBytes, points });
    }
  }
  const { backend, path } = await selectBackend({ backend: "tensorflow", from: effort.from, for: "training" });
  const native = { ...effort, backend: { backend, path } };
  if (!skipped.has("batches"))
    for (const model of wanted.filter(({ hasLargestBatch }) => hasLargestBatch)) {
      const largest = await measureLargestBatch({ ...model, backend: native.backend }, native);
      batches.push({ model, largest });
      verdicts.push(verdictOfBatches(model, largest));
    }
  if (!skipped.has("trainings")) {
    trainings.push(...(await measureTrainings("50%", native)));
    verdicts.push(...verdictsOfTrainings(trainings));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
  tell("");
}

const machine = `Node ${process.version}, ${availableParallelism()} × ${cpus()[0]?.model ?? "unknown CPU"}, load ${loadavg()[0].toFixed(1)}`;
const measured = [
  [
    "models",
    "Most memory held in a training step over weights, slots and batch, and the median step time",
    results,
    modelsTable,
  ],
  ["batches", "The largest batch that trains in a process with 4 GB resident", batches, batchesTable],
  ["trainings", "Ways to train within half of the memory that stock takes", trainings, trainingsTable],
]
  .filter(([, , { length }]) => length > 0)
  .map(([mark, title, rows, tableOf]) => ({ mark, title, table: tableOf(rows) }));
if (options.json) console.log(JSON.stringify({ machine, results, batches, trainings, verdicts, curves }, null, 2));
else {
  for (const { title, table } of measured) console.log(`${title}\n\n${table}\n`);
  const cells = verdicts.map(({ what, value, bound, isMet }) => [what, value, bound, isMet ? "yes" : "NO"]);
  console.log(formatTable(cells, { headers: ["What", "Measured", "Bound", "Met"] }));
  console.log(
    `\n${machine}.${isBusy() ? " Other work was waiting for the CPU: bounds on time are met by CPU time." : ""}`,
  );
}
if (options.write) {
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  for (const { mark, table } of measured) putTable("docs/evidence/benchmarks.md", "bench:memory", table, mark);
  if (curves.length > 0) writeFileSync(join(root, "docs/evidence/memory-against-time.svg"), drawTradeOff(curves));
}
if (verdicts.some(({ isMet }) => !isMet)) process.exitCode = 1;
