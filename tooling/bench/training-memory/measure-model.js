import { fileURLToPath } from "node:url";
import { readPlan } from "@remat/trace";
import { askProcess } from "../../../apps/cli/dist/run/ask-process.js";
import { stepMsOf } from "../../../apps/cli/dist/run/predict-step.js";
import { pathOfProcess } from "../../../apps/cli/dist/run/process-paths.js";
import { median } from "../src/measure.js";
import { ratiosTo, Stepper, takeTurns } from "./stepper.js";

const megabyte = 1e6;
const warmUpSteps = 3;
const own = (name) => fileURLToPath(new URL(`${name}-process.js`, import.meta.url));

/**
 * Stock, early release and the fastest plan within the memory that is asked for, of one model: predicted, then run side by side, each in a
 * process of its own, step by step in turns. Stock's process never loads the hook. Times of ops, of which step times are predicted, are taken
 * in turns with the others.
 */
export async function measureModel({ source, bounds }, { steps, planMs, timesPath, from, tell }) {
  const plan = (wanted) => {
    tell(`predicting ${source.name}: ${wanted.kind}`);
    const job = { source, backend: "tensorflow", from, wanted, timeMs: planMs, seed: 1, timesPath };
    return askProcess(pathOfProcess("planning"), job, { onProgress: tell });
  };
  const early = await plan({ kind: "early-release" });
  const { backend, restingBytes } = early;
  const bytes = Math.floor(bounds.planned(early.stock.peakBytes - restingBytes)) + restingBytes;
  const planned = await plan({ kind: "budget", budget: { bytes } });
  const start = (way) => new Stepper({ source, backend, way });
  const stockPeak = await peakOf(start({ kind: "counted" }));
  const runs = {
    stock: start({ kind: "stock" }),
    early: start({ kind: "early-release" }),
    planned: start({ kind: "plan", plan: planned.plan }),
  };
  const timing = start({ kind: "op-times" });
  try {
    for (const stepper of [timing, ...Object.values(runs)]) await warmUp(stepper);
    await timing.ask("forget-times");
    const peaks = { stock: stockPeak, early: await runs.early.ask("peak"), planned: await runs.planned.ask("peak") };
    await takeTurns([...Object.values(runs), timing], steps, (text) => tell(`running ${source.name}: ${text}`));
    const times = await timing.ask("times");
    const figures = async (name, predicted, way, plan) => ({
      predictedBytes: predicted.peakBytes - restingBytes,
      measuredBytes: peaks[name] - restingBytes,
      residentBytes: await runs[name].ask("resident"),
      allowedResidentBytes: 1.25 * predicted.peakBytes + 150 * megabyte,
      predictedMs: stepMsOf(times, times.hostMs[way], plan),
      wallMs: median(runs[name].wallMs),
      cpuMs: median(runs[name].cpuMs),
      ratios: ratiosTo(runs[name], runs.stock),
      recomputedOps: predicted.recomputedOps,
    });
    return {
      source,
      backend,
      restingBytes,
      stock: await figures("stock", early.stock, "stock"),
      early: await figures("early", early.predicted, "released"),
      planned: await figures("planned", planned.predicted, "planned", readPlan(planned.plan)),
    };
  } finally {
    for (const stepper of [timing, ...Object.values(runs)]) stepper.end();
  }
}

async function warmUp(stepper) {
  for (let i = 0; i < warmUpSteps; i++) await stepper.step();
}

async function peakOf(stepper) {
  try {
    await warmUp(stepper);
    return await stepper.ask("peak");
  } finally {
    stepper.end();
  }
}

/** Plans for `points` budgets, each run for a few steps in turns with stock and with the times of ops. */
export async function measureTradeOff({ source, backend, restingBytes }, { steps, points, planMs, timesPath, tell }) {
  const job = { source, backend, points, timeMs: planMs, timesPath };
  const front = await askProcess(own("front"), job, { onProgress: tell });
  const stock = new Stepper({ source, backend, way: { kind: "stock" } });
  const timing = new Stepper({ source, backend, way: { kind: "op-times" } });
  const measured = [];
  try {
    for (const stepper of [stock, timing]) await warmUp(stepper);
    for (const [i, { budgetBytes, predicted, plan }] of front.entries()) {
      const planned = new Stepper({ source, backend, way: { kind: "plan", plan } });
      try {
        await warmUp(planned);
        const peakBytes = await planned.ask("peak");
        await timing.ask("forget-times");
        for (const stepper of [stock, timing, planned]) stepper.forget();
        await takeTurns([stock, timing, planned], steps, (text) =>
          tell(`running ${source.name}: budget ${i + 1} of ${front.length}, ${text}`),
        );
        const times = await timing.ask("times");
        measured.push({
          budgetBytes: budgetBytes - restingBytes,
          predictedBytes: predicted.peakBytes - restingBytes,
          measuredBytes: peakBytes - restingBytes,
          residentBytes: await planned.ask("resident"),
          predictedRatio: stepMsOf(times, times.hostMs.planned, readPlan(plan)) / stepMsOf(times, times.hostMs.stock),
          ratio: median(ratiosTo(planned, stock).wall),
        });
      } finally {
        planned.end();
      }
    }
    return measured;
  } finally {
    for (const stepper of [stock, timing]) stepper.end();
  }
}

/** Step times with the hook installed and no plan, over stock's, in turns. */
export async function measureHook({ source, backend }, { rounds, tell }) {
  const stock = new Stepper({ source, backend, way: { kind: "stock" } });
  const hooked = new Stepper({ source, backend, way: { kind: "hook" } });
  try {
    for (const stepper of [stock, hooked]) await warmUp(stepper);
    await takeTurns([stock, hooked], rounds, (text) => tell(`hook without a plan: ${text}`));
    return ratiosTo(hooked, stock);
  } finally {
    for (const stepper of [stock, hooked]) stepper.end();
  }
}
