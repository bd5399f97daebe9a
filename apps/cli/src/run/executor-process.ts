// A process that runs training steps under remat, with early release or a plan, and counts memory by buffer.
import { startBackend } from "@remat/dispatch-hook/backends/node";
import { execute, surroundingsOf } from "./execution.js";
import { recordStep } from "./record-step.js";
import { runSteps } from "./run-steps.js";
import { serveJob } from "./serve-job.js";
import type { StepJob, StepResult } from "./step-job.js";

serveJob<StepJob, StepResult>(async (job) => {
  await startBackend(job.backend, { for: "training" });
  const figures = await runSteps(job, () => surroundingsOf(job));
  const recorded = job.record ? await recordStep(job, () => execute(job.execution)) : undefined;
  return { ...figures, recorded };
});
