import type { Trace } from "@remat/trace";
import { heldPeak } from "../held/held-memory.js";
import { holdSequence } from "./hold-sequence.js";
import { sequenceGraphOfTrace, type TraceSequenceGraph } from "./sequence-graph-of-trace.js";

/**
 * Returns the peak memory of the trace's device in bytes if every op runs once, in order, and everything is freed after
 * its last use. This is the peak of a plan without recomputation. Early release (`predictReleasedPeak` of
 * `@remat/checkpoint/predict`) needs more memory, because it cannot know which use is the last.
 *
 * @param graph the trace's sequence graph, if it is known
 * @throws RematError as `sequenceGraphOfTrace`
 */
export function unrecomputedPeakBytes(trace: Trace, graph: TraceSequenceGraph = sequenceGraphOfTrace(trace)): number {
  const inOrder = Int32Array.from({ length: graph.nodeCount }, (_, node) => node);
  const recorded = heldPeak(trace).peakBytes;
  return Math.min(recorded, holdSequence(graph, inOrder)?.peakBytes ?? recorded);
}
