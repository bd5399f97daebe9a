// Plans a step for budgets from what early release alone holds down to the smallest.
import { planCheckpointing } from "@remat/planner";
import { writePlan } from "@remat/trace";
import { loadBackend } from "../../../apps/cli/dist/run/load-backend.js";
import { plannedStep, timeOps, traceTraining } from "../../../apps/cli/dist/run/predict-step.js";
import { serveJob } from "../../../apps/cli/dist/run/serve-job.js";

serveJob(async ({ source, backend, timesPath, points, timeMs }, tell) => {
  await loadBackend(backend);
  const trace = await timeOps(await traceTraining(source, backend.backend), tell, timesPath);
  const { front } = await planCheckpointing(trace, { budgetFraction: 1, paretoPoints: points, timeMs, seed: 1 });
  return front.map(({ budgetBytes, plan }) => ({
    budgetBytes,
    predicted: plannedStep(trace, plan),
    plan: writePlan(plan),
  }));
});
