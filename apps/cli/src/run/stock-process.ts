// A process that runs training steps of unmodified TensorFlow.js. It loads tfjs, the backend with its known facts and
// the model loader, and never the hook.
import { startBackend } from "@remat/dispatch-hook/backends/node";
import { runSteps } from "./run-steps.js";
import { serveJob } from "./serve-job.js";
import type { StepJob, StepResult } from "./step-job.js";

serveJob<StepJob, StepResult>(async (job) => {
  await startBackend(job.backend, { for: "training" });
  return runSteps(job);
});
