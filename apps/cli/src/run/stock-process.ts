// A process that runs training steps of stock TensorFlow.js: it loads tfjs, the backend and the loader of models, and never the hook.
import { loadBackend } from "./load-backend.js";
import { runSteps } from "./run-steps.js";
import { serveJob } from "./serve-job.js";
import type { StepJob, StepResult } from "./step-job.js";

serveJob<StepJob, StepResult>(async (job) => {
  await loadBackend(job.backend);
  return runSteps(job);
});
