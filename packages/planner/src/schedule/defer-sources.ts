import type { PlanningGraph } from "../graph/planning-graph.js";

/**
 * Returns the sequence with each source as late as it can be: right before the next node that runs for the first time. An executor recomputes
 * as soon as the step before is done, before user code goes on and makes what the sources stand for. That never holds more, since what is
 * recomputed in between reads none of it.
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
