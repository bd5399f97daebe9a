import { fileURLToPath } from "node:url";
import { askProcess } from "../../../apps/cli/dist/run/ask-process.js";
import { pathOfProcess } from "../../../apps/cli/dist/run/process-paths.js";
import { median } from "../src/measure.js";

const megabyte = 1e6;
const own = (name) => fileURLToPath(new URL(`${name}-process.js`, import.meta.url));

/** Figures of one way to train a model: predicted, and measured in a process of its own. */
async function measureSteps(job, predicted, restingBytes, program = "executor") {
  const { steps, loadedBytes, peakResidentBytes } = await askProcess(pathOfProcess(program), job);
  const timed = steps.length > 1 ? steps.slice(1) : steps;
  return {
    predictedBytes: predicted.peakBytes - restingBytes,
    measuredBytes: Math.max(...steps.map((step) => step.peakBytes ?? Number.NaN)) - restingBytes,
    residentBytes: peakResidentBytes - loadedBytes,
    allowedResidentBytes: 1.25 * predicted.peakBytes + 150 * megabyte,
    predictedMs: predicted.stepMs,
    wallMs: median(timed.map((step) => step.wallMs)),
    cpuMs: median(timed.map((step) => step.cpuMs)),
    recomputedOps: predicted.recomputedOps,
    losses: steps.map((step) => step.loss),
  };
}

/**
 * Stock, early release and the fastest plan within the memory that is asked for, of one model: predicted, then run one after the other. Stock's
 * time and resident memory are those of a process that never loads the hook.
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
  const run = (execution, predicted, program) => {
    tell(`running ${source.name}: ${program === "stock" ? "stock, without the hook" : execution.kind}`);
    const job = { source, backend, execution, steps, seed: 1, digest: false, read: [], record: false };
    return measureSteps(job, predicted, restingBytes, program);
  };
  const counted = await run({ kind: "stock" }, early.stock);
  const pure = await run({ kind: "stock" }, early.stock, "stock");
  return {
    source,
    backend,
    restingBytes,
    stock: { ...pure, measuredBytes: counted.measuredBytes, countedMs: counted.wallMs },
    early: await run({ kind: "early-release" }, early.predicted),
    planned: await run({ kind: "plan", plan: planned.plan }, planned.predicted),
  };
}

/** Plans for `points` budgets, each run for a few steps. */
export async function measureTradeOff({ source, backend, restingBytes }, { steps, points, planMs, timesPath, tell }) {
  const front = await askProcess(
    own("front"),
    { source, backend, points, timeMs: planMs, timesPath },
    { onProgress: tell },
  );
  const measured = [];
  for (const [i, { budgetBytes, predicted, plan }] of front.entries()) {
    tell(`running ${source.name}: budget ${i + 1} of ${front.length}`);
    const execution = { kind: "plan", plan };
    const job = { source, backend, execution, steps, seed: 1, digest: false, read: [], record: false };
    measured.push({ budgetBytes: budgetBytes - restingBytes, ...(await measureSteps(job, predicted, restingBytes)) });
  }
  return measured;
}
