// Compares predicted step times of a calibrated machine with real steps of models that the calibration did not measure.
// Usage: node tooling/bench/accuracy.js [--backend tensorflow,wasm,cpu] [--models mobilenet_v1,…] [--seconds 10] [--write]
// NATIVE_APP names a folder with the native backend. Without it, `tensorflow` is left out.
// Calibration and steps take turns, because the speed of a shared machine varies: each model is predicted by the
// calibrations before and after its steps. Times are CPU time, or wall time if that is shorter.
// --write puts the table into docs/evidence/accuracy.md.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { selectBackend } from "@remat/dispatch-hook/backends/node";
import { priceTrace, stepMs } from "@remat/runtime-estimator";
import { calibrate } from "@remat/runtime-estimator/calibrate";
import { formatTable } from "@remat/trace/text";
import { timeStep, traceFakeStep } from "@remat/tracer";
import "@tensorflow/tfjs";
import { accuracyModels } from "./src/accuracy-models.js";
import { median } from "./src/measure.js";
import { putTable } from "./src/put-table.js";
import { rankCorrelation } from "./src/rank-correlation.js";
import { report } from "./src/report.js";

const page = "docs/evidence/accuracy.md";
/** Worst and median errors of step times that we aim for, in per cent. */
const bounds = { worst: 30, median: 15 };

const { values: options } = parseArgs({
  options: {
    backend: { type: "string" },
    models: { type: "string" },
    seconds: { type: "string", default: "10" },
    write: { type: "boolean", default: false },
    child: { type: "boolean", default: false },
  },
});

if (options.child) await measureBackend(options.backend);
else await measureAll();

async function measureAll() {
  const usual = [...(process.env.NATIVE_APP === undefined ? [] : ["tensorflow"]), "wasm", "cpu"];
  const found = [];
  for (const backend of options.backend?.split(",") ?? usual) found.push(...(await askBackend(backend)));
  for (const { model, backend, ratio, ...each } of found)
    report({
      what: `step time of ${model} on ${backend}, error`,
      value: errorOf(ratio),
      unit: "%",
      bound: bounds.worst,
      note: `predicted ${each.predictedMs.toFixed(1)} ms, measured ${each.measuredMs.toFixed(1)} ms; rank correlation of ops ${each.rank.toFixed(2)}`,
    });
  if (found.length > 0)
    report({
      what: "step time, median error",
      value: median(found.map(({ ratio }) => errorOf(ratio))),
      unit: "%",
      bound: bounds.median,
    });
  if (options.write) putTable(page, "bench accuracy", tableOf(found), "steps");
}

/** Error of a prediction in per cent. */
function errorOf(ratio) {
  return 100 * Math.abs(ratio - 1);
}

/** Measures one backend in a process of its own, because a process has one backend. */
function askBackend(backend) {
  return new Promise((resolve, reject) => {
    const found = [];
    const args = ["--child", "--backend", backend, "--seconds", options.seconds];
    if (options.models !== undefined) args.push("--models", options.models);
    const child = fork(fileURLToPath(import.meta.url), args, { stdio: ["ignore", 2, 2, "ipc"] });
    child.on("message", (row) => found.push(row));
    child.on("close", (code) => {
      if (code === 0) resolve(found);
      else reject(new Error(`${backend}: exit code ${code}`));
    });
  });
}

async function measureBackend(backend) {
  const from = process.env.NATIVE_APP;
  await selectBackend({ for: "training", backend, ...(backend === "tensorflow" && from !== undefined && { from }) });
  const wanted = options.models?.split(",");
  const budgetMs = 1000 * Number(options.seconds);
  let before = await calibrate({ budgetMs });
  for (const { key, load, batch, optimizer, without = [], small } of accuracyModels) {
    if ((wanted !== undefined && !wanted.includes(key)) || without.includes(backend)) continue;
    const request = { backend, batch, ...(optimizer && { optimizer }), ...(backend === "cpu" && small) };
    const measured = await measureModel(await load(), request, budgetMs);
    const after = await calibrate({ budgetMs });
    const predictions = [before, after].map((device) => priceTrace(measured.trace, device));
    const predictedMs = Math.sqrt(stepMs(predictions[0]) * stepMs(predictions[1]));
    const row = {
      ...{ model: key, backend, ops: measured.trace.ops.count, predictedMs, measuredMs: measured.ms },
      ratio: predictedMs / measured.ms,
      hostShare: measured.hostMs / measured.ms,
      rank: rankCorrelation(predictions[1].ops.runtimeMs, measured.trace.ops.runtimeMs),
      opError: median(
        Array.from(measured.trace.ops.runtimeMs, (ms, op) =>
          Math.abs((predictions[1].ops.runtimeMs[op] - after.calibration.dispatchUs / 1e3) / ms - 1),
        ),
      ),
    };
    console.error(
      `${backend} ${key}: ${predictedMs.toFixed(1)} of ${measured.ms.toFixed(1)} ms (${row.ratio.toFixed(2)}), ${(100 * row.hostShare).toFixed(0)}% outside of ops; op error ${(100 * row.opError).toFixed(0)}%, rank ${row.rank.toFixed(2)}`,
    );
    process.send?.(row);
    before = after;
  }
  process.disconnect?.();
}

/** Median times of a real step and of its ops. */
async function measureModel(build, request, budgetMs) {
  const trace = await traceFakeStep(build, request);
  const { trace: timed, hostMs } = await timeStep(build, trace, {
    ...request,
    ...{ ways: [{ open: () => () => {}, times: "both" }], isShared: true },
    ...{ warmUpSteps: 2, minSteps: 3, maxSteps: 50, budgetMs },
  });
  return { trace: timed, hostMs, ms: stepMs(timed) + hostMs };
}

function tableOf(rows) {
  const ms = (value) => `${Number(value.toPrecision(3))} ms`;
  return formatTable(
    rows.map(({ model, backend, predictedMs, measuredMs, ratio, rank }) => [
      ...[model, backend, ms(predictedMs), ms(measuredMs)],
      ...[`${ratio.toFixed(2)}×`, rank.toFixed(2)],
    ]),
    {
      headers: ["Model", "Backend", "Predicted", "Measured", "Ratio", "Rank correlation of ops"],
      format: "markdown",
    },
  );
}
