import type { ModuleEntry } from "./module-entry.js";
import type { ModuleRecorder } from "./module-recorder.js";

/** A layer may create its weights in its first call, so remat looks for weights before and after that call. */
const timesToLook = 2;

/** Records a module and its weights in the trace. @internal */
export function recordModule(recorder: ModuleRecorder | undefined, entry: ModuleEntry): void {
  if (recorder === undefined) return;
  if (entry.traced < 0) entry.traced = recorder.module(entry.recorded);
  if (entry.timesRecorded++ >= timesToLook) return;
  const { parameters, buffers } = entry.weights();
  if (parameters.length + buffers.length === entry.tracedWeights) return;
  entry.tracedWeights = parameters.length + buffers.length;
  recorder.moduleWeights(entry.traced, parameters, buffers);
}
