import { heldPeak, peakMoment } from "@remat/memory";
import { countReplayedOps, type Trace } from "@remat/trace";
import { traceStep } from "@remat/tracer";
import { loadModel } from "../load-model.js";
import type { RecordedStep, StepJob } from "./step-job.js";

/** Records one more step of a new instance of the job's model, for memory by category and the recomputed ops. */
export async function recordStep(
  { source, largest }: StepJob,
  execute: () => { close(): void },
): Promise<RecordedStep> {
  const model = await loadModel(source, { readsWeights: true });
  const running = execute();
  try {
    return summaryOf(await traceStep(model, { ...source.request, name: source.name }), largest);
  } finally {
    running.close();
  }
}

function summaryOf(trace: Trace, largest?: number): RecordedStep {
  const { ops } = trace;
  const recomputedOps = countReplayedOps(trace);
  const { peakBytes, bytesByCategory } = heldPeak(trace);
  const moment = peakMoment(trace, largest === undefined ? {} : { limit: largest });
  return { peakBytes, bytesByCategory, moment, ops: ops.count - recomputedOps, recomputedOps };
}
