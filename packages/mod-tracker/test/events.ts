import { describeTrace } from "@remat/testkit";
import type { Trace } from "@remat/trace";
import { TraceRecorder, type TraceRecorderOptions } from "../../tracer/src/recorder/trace-recorder.js";
import { ModTracker, type Part, type TrackOptions } from "../src/index.js";

/** Records `run` with `model` tracked. */
export async function traceOf(
  model: Part | undefined,
  run: (tracker: ModTracker) => unknown,
  options: TrackOptions & TraceRecorderOptions = {},
): Promise<Trace> {
  const recorder = new TraceRecorder(options);
  const tracker = new ModTracker({ recorder });
  if (model !== undefined) tracker.track(model, options);
  try {
    await tracker.run(() => run(tracker));
    return recorder.trace();
  } finally {
    tracker.close();
  }
}

/** Only what concerns modules: their events, without tensors. */
export const moduleEvents = (trace: Trace): string[] =>
  describeTrace(trace)
    .filter((line) => /^[<>]/.test(line))
    .map((line) => line.replace(/ \(.*\)$/, ""));

/** Module events and ops, each op as kernel, phase, what it differentiates. */
export const eventsAndOps = (trace: Trace): string[] =>
  describeTrace(trace)
    .filter((line) => /^([<>]|op|mark (?!gradients))/.test(line))
    .map((line) => line.replace(/^op \d+ (\w+)\(.*\) = \S+/, "  $1").replace(/ \((s\d+,?)*\)$/, ""));
