import { recordedPeak } from "@remat/reporting";
import { Phase, type Trace } from "@remat/trace";
import { traceStep } from "@remat/tracer";
import { seedMathRandom } from "./seeded-random.js";
import type { RecordedStep, StepJob } from "./step-job.js";
import { trainingOf } from "./training.js";

/** Records one more step of the job's model, made anew, for what is held by category and what was computed again. */
export async function recordStep(job: StepJob, execute: () => { close(): void }): Promise<RecordedStep> {
  const training = await trainingOf(job.source);
  const { size, batch, name } = job.source;
  const unseed = seedMathRandom(job.seed);
  const running = execute();
  try {
    const trace = await traceStep(training.build, { ...training.options, name, size, batch, stepsBefore: 1 });
    return summaryOf(trace);
  } finally {
    running.close();
    unseed();
  }
}

function summaryOf(trace: Trace): RecordedStep {
  const { ops } = trace;
  let recomputedOps = 0;
  for (let op = 0; op < ops.count; op++) if (ops.phase[op] === Phase.recompute) recomputedOps++;
  return { ...recordedPeak(trace), ops: ops.count - recomputedOps, recomputedOps };
}
