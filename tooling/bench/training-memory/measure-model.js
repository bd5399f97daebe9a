import { fileURLToPath } from "node:url";
import { stepMs } from "@remat/runtime-estimator";
import { readPlan } from "@remat/trace";
import { askProcess } from "../../../apps/cli/dist/run/ask-process.js";
import { pathOfProcess } from "../../../apps/cli/dist/run/process-paths.js";
import { median } from "../src/measure.js";
import { ratiosTo, Stepper, takeTurns, warmUp } from "./stepper.js";

const megabyte = 1e6;
const own = (name) => fileURLToPath(new URL(`${name}-process.js`, import.meta.url));

/**
 * Baseline, early release and the fastest plan within the requested memory, for one model: predicted, then run side by
 * side in separate processes, step by step in turns. The baseline's process never loads the hook. Op times, which step
 * times are predicted from, are measured in turns with the others.
 */
export async function measureModel({ source, bounds }, { steps, sets, planMs, timesPath, from, tell }) {
  const plan = (wanted) => {
    tell(`predicting ${source.name}: ${wanted.kind}`);
    const request = { ...source.request, backend: "tensorflow" };
    const job = { source: { ...source, request }, from, wanted, timeMs: planMs, timesPath };
    return askProcess(pathOfProcess("planning"), job, { onProgress: tell });
  };
  const early = await plan({ kind: "early-release" });
  const { backend, restingBytes } = early;
  const bytes = Math.floor(bounds.planned(early.stock.peakBytes - restingBytes)) + restingBytes;
  const planned = await plan({ kind: "budget", budget: { bytes } });
  const jobOf = (way) => ({ source, backend, way });
  const peaks = { stock: await peakOf(jobOf({ kind: "counted" })) };
  const resident = { stock: 0, early: 0, planned: 0 };
  const opTimes = [];
  const jobs = {
    stock: jobOf({ kind: "stock" }),
    early: jobOf({ kind: "early-release" }),
    planned: jobOf({ kind: "plan", plan: planned.plan }),
    timing: jobOf({ kind: "op-times" }),
  };
  const taken = await takeTurns(jobs, {
    sets,
    rounds: steps,
    tell: (text) => tell(`running ${source.name}: ${text}`),
    async warmedUp(steppers) {
      await steppers.timing.ask("forget-times");
      for (const way of ["early", "planned"]) peaks[way] = await steppers[way].ask("peak");
    },
    async over(steppers) {
      opTimes.push(await steppers.timing.ask("times"));
      for (const way in resident) resident[way] = Math.max(resident[way], await steppers[way].ask("resident"));
    },
  });
  const figures = (name, predicted, way, plan) => ({
    predictedBytes: predicted.peakBytes - restingBytes,
    measuredBytes: peaks[name] - restingBytes,
    residentBytes: resident[name],
    allowedResidentBytes: 1.25 * predicted.peakBytes + 150 * megabyte,
    predictedMs: median(opTimes.map((times) => stepMs({ ops: times }, { hostMs: times.hostMs[way], plan }))),
    wallMs: median(taken[name].wallMs),
    cpuMs: median(taken[name].cpuMs),
    ratios: ratiosTo(taken[name], taken.stock),
    recomputedOps: predicted.recomputedOps,
  });
  return {
    source,
    backend,
    restingBytes,
    stock: figures("stock", early.stock, "stock"),
    early: figures("early", early.predicted, "released"),
    planned: figures("planned", planned.predicted, "planned", readPlan(planned.plan)),
  };
}

async function peakOf(job) {
  const stepper = new Stepper(job);
  try {
    await warmUp(stepper);
    return await stepper.ask("peak");
  } finally {
    stepper.end();
  }
}

/** Plans for `points` budgets, each run for a few steps in turns with the baseline and with op timing. */
export async function measureTradeOff({ source, backend, restingBytes }, { steps, points, planMs, timesPath, tell }) {
  const job = { source, backend, points, timeMs: planMs, timesPath };
  const front = await askProcess(own("front"), job, { onProgress: tell });
  const measured = [];
  for (const [i, { budgetBytes, predicted, plan }] of front.entries()) {
    const answers = {};
    const jobs = {
      stock: { source, backend, way: { kind: "stock" } },
      timing: { source, backend, way: { kind: "op-times" } },
      planned: { source, backend, way: { kind: "plan", plan } },
    };
    const taken = await takeTurns(jobs, {
      rounds: steps,
      warmUpSteps: 2,
      tell: (text) => tell(`running ${source.name}: budget ${i + 1} of ${front.length}, ${text}`),
      async warmedUp({ timing, planned }) {
        await timing.ask("forget-times");
        answers.peakBytes = await planned.ask("peak");
      },
      async over({ timing, planned }) {
        answers.times = await timing.ask("times");
        answers.residentBytes = await planned.ask("resident");
      },
    });
    const { peakBytes, times, residentBytes } = answers;
    measured.push({
      budgetBytes: budgetBytes - restingBytes,
      predictedBytes: predicted.peakBytes - restingBytes,
      measuredBytes: peakBytes - restingBytes,
      residentBytes,
      predictedRatio:
        stepMs({ ops: times }, { hostMs: times.hostMs.planned, plan: readPlan(plan) }) /
        stepMs({ ops: times }, { hostMs: times.hostMs.stock }),
      ratio: median(ratiosTo(taken.planned, taken.stock).wall),
    });
  }
  return measured;
}

/** Step times with an idle hook relative to the baseline, in turns. */
export async function measureHook({ source, backend }, { rounds, tell }) {
  const roundsOfSet = 8;
  const taken = await takeTurns(
    { stock: { source, backend, way: { kind: "stock" } }, hooked: { source, backend, way: { kind: "hook" } } },
    {
      sets: Math.ceil(rounds / roundsOfSet),
      rounds: roundsOfSet,
      tell: (text) => tell(`hook without a plan: ${text}`),
    },
  );
  return ratiosTo(taken.hooked, taken.stock);
}
