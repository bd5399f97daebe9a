// Plans steps of a model for several batch sizes within a budget, without data, with op times estimated for a device
// instead of measured.
import { planCheckpointing } from "@remat/planner";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { writePlan } from "@remat/trace";
import { stepToPlan, traceFakeStep } from "@remat/tracer";
import { loadModel } from "../../../apps/cli/dist/load-model.js";
import { serveJob } from "../../../apps/cli/dist/run/serve-job.js";

serveJob(async ({ source, backend, budgetBytes, timeMs }, tell) => {
  const model = await loadModel(source);
  tell(`planning ${source.name}, batch ${source.request.batch}`);
  const traced = await traceFakeStep(model, {
    ...source.request,
    name: source.name,
    backend: backend.backend,
    ...stepToPlan,
  });
  const trace = priceTrace(traced, deviceSpec("cpu"));
  const { point } = await planCheckpointing(trace, { budgetBytes, timeMs, seed: 1 });
  return point === undefined ? undefined : { plan: writePlan(point.plan), peakBytes: point.peakBytes };
});
