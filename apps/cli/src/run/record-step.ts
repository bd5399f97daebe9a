import { heldPeak } from "@remat/memory";
import { Phase, type Trace } from "@remat/trace";
import { traceStep } from "@remat/tracer";
import { loadModel } from "../load-model.js";
import type { RecordedStep, StepJob } from "./step-job.js";

/** Records one more step of the job's model, a new one, for what is held by category and what was recomputed. */
export async function recordStep({ source }: StepJob, execute: () => { close(): void }): Promise<RecordedStep> {
  const model = await loadModel(source);
  const running = execute();
  try {
    return summaryOf(await traceStep(model, { ...source.request, name: source.name }));
  } finally {
    running.close();
  }
}

function summaryOf(trace: Trace): RecordedStep {
  const { ops } = trace;
  let recomputedOps = 0;
  for (let op = 0; op < ops.count; op++) if (ops.phase[op] === Phase.recompute) recomputedOps++;
  const { peakBytes, bytesByCategory } = heldPeak(trace);
  return { peakBytes, bytesByCategory, ops: ops.count - recomputedOps, recomputedOps };
}
