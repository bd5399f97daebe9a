// A process that trains a model with a given batch size and returns its highest resident memory. For the baseline it
// never loads the hook.
import { startBackend } from "@remat/dispatch-hook/backends/node";
import { prepareStep } from "@remat/tracer/step";
import { loadModel } from "../../../apps/cli/dist/load-model.js";
import { answerQuestions } from "./answer-questions.js";

/** The second step reallocates memory freed by the first. The third confirms a steady state. */
const steps = 3;

answerQuestions(async ({ source, backend, way }) => {
  await startBackend(backend, { for: "training" });
  const model = await loadModel(source);
  globalThis.gc?.();
  if (way.kind === "plan") {
    const { applyPlan } = await import("@remat/checkpoint");
    const { readPlan } = await import("@remat/trace");
    applyPlan(readPlan(way.plan));
  }
  const step = await prepareStep(model, { ...source.request, name: source.name });
  for (let i = 0; i < steps; i++) {
    step.take({ loss: (value) => void value.dataSync() });
    globalThis.gc?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return process.resourceUsage().maxRSS * 1024;
});
