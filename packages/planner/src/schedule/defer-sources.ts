import type { PlanningGraph } from "../graph/planning-graph.js";

/**
 * Returns the sequence with each source as late as possible: right before the next node that runs for the first time.
 * An executor recomputes as soon as the preceding step is done, before user code continues and creates the values that
 * the sources represent. Deferring never increases memory, since recomputation in between does not read these values.
 * @internal
 */
export function deferSources(graph: PlanningGraph, sequence: Int32Array): Int32Array {
  const { isSource } = graph;
  if (isSource === undefined) return sequence;
  const deferred = new Int32Array(sequence.length);
  const waiting: number[] = [];
  const hasRun = new Uint8Array(graph.nodeCount);
  let length = 0;
  for (const v of sequence) {
    if (v < 0) {
      deferred[length++] = v;
      continue;
    }
    if (isSource[v] === 1) waiting.push(v);
    else {
      if (hasRun[v] === 0) for (const source of waiting.splice(0)) deferred[length++] = source;
      deferred[length++] = v;
    }
    hasRun[v] = 1;
  }
  for (const source of waiting) deferred[length++] = source;
  return deferred;
}
