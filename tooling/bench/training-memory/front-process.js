// Plans a step for budgets from what early release alone holds down to the smallest.
import { planCheckpointing } from "@remat/planner";
import { writePlan } from "@remat/trace";
import { loadBackend } from "../../../apps/cli/dist/run/load-backend.js";
import { earlyReleasePeak, plannedStep, timeTraining, traceTraining } from "../../../apps/cli/dist/run/predict-step.js";
import { serveJob } from "../../../apps/cli/dist/run/serve-job.js";

serveJob(async ({ source, backend, timesPath, points, timeMs }, tell) => {
  await loadBackend(backend);
  const traced = await traceTraining(source, backend.backend);
  const { peakBytes: releasedPeakBytes } = await earlyReleasePeak(source, backend.backend);
  const timed = await timeTraining(traced, source, { releasedPeakBytes, isSynchronous: true, timesPath, tell });
  const { front } = await planCheckpointing(timed.trace, { budgetFraction: 1, paretoPoints: points, timeMs, seed: 1 });
  return front.map(({ budgetBytes, plan }) => ({
    budgetBytes,
    predicted: plannedStep(timed, plan),
    plan: writePlan(plan),
  }));
});
