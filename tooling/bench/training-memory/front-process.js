// Plans a step for budgets from the peak under early release down to the smallest.

import { predictPlanned, predictReleasedPeak, timeTraining } from "@remat/checkpoint/predict";
import { startBackend } from "@remat/dispatch-hook/backends/node";
import { planCheckpointing } from "@remat/planner";
import { writePlan } from "@remat/trace";
import { stepToPlan, traceFakeStep } from "@remat/tracer";
import { loadModel } from "../../../apps/cli/dist/load-model.js";
import { keptTimes } from "../../../apps/cli/dist/run/kept-times.js";
import { serveJob } from "../../../apps/cli/dist/run/serve-job.js";

serveJob(async ({ source, backend, timesPath, points, timeMs }, tell) => {
  await startBackend(backend, { for: "training" });
  const model = await loadModel(source);
  const step = { ...source.request, name: source.name, backend: backend.backend };
  tell(`tracing ${source.name}`);
  const traced = await traceFakeStep(model, { ...step, ...stepToPlan });
  const { peakBytes: releasedPeakBytes } = await predictReleasedPeak(model, step);
  const times = keptTimes(timesPath);
  const timed = await timeTraining(model, traced, {
    ...step,
    releasedPeakBytes,
    isSynchronous: true,
    cache: times.cache,
  });
  times.keep();
  const { front } = await planCheckpointing(timed.trace, { budgetFraction: 1, paretoPoints: points, timeMs, seed: 1 });
  return front.map(({ budgetBytes, plan }) => ({
    budgetBytes,
    predicted: predictPlanned(timed, plan),
    plan: writePlan(plan),
  }));
});
