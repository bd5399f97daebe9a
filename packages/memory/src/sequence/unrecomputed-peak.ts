import type { Trace } from "@remat/trace";
import { heldPeak } from "../held/held-memory.js";
import { holdSequence } from "./hold-sequence.js";
import { sequenceGraphOfTrace } from "./sequence-graph-of-trace.js";

/**
 * Returns the most bytes that the trace's device holds where every op runs once, in its order, and everything is freed after its last use: what a
 * plan holds that recomputes nothing. Early release (`predictReleasedPeak` of `@remat/checkpoint/predict`) cannot know what is the last use, and holds more.
 *
 * @throws RematError what `sequenceGraphOfTrace` throws
 */
export function unrecomputedPeakBytes(trace: Trace): number {
  const graph = sequenceGraphOfTrace(trace);
  const inOrder = Int32Array.from({ length: graph.nodeCount }, (_, node) => node);
  const recorded = heldPeak(trace).peakBytes;
  return Math.min(recorded, holdSequence(graph, inOrder)?.peakBytes ?? recorded);
}
