import type { PlanningGraph } from "../graph/planning-graph.js";

/**
 * A section of the forward pass, and the section of the backward pass that reads its results. Ends are exclusive.
 * @internal
 */
export interface Segment {
  readonly from: number;
  readonly to: number;
  readonly backwardFrom: number;
  readonly backwardTo: number;
}

/** Smallest number of nodes in a segment. */
const fewestNodes = 6;
/** A fraction of the forward pass. Values that live longer than this do not prevent a cut, because they cross almost every place. */
const longLife = 1 / 8;

/**
 * Cuts the forward pass of a training step where one value and only few others pass from one part to the next: between
 * residual blocks, layers or stages. The backward pass goes through the same parts in reverse. Returns no segments for
 * a graph without such a structure. @internal
 */
export function forwardSegments(graph: PlanningGraph): Segment[] {
  const { nodeCount, recomputable, outputs } = graph;
  const makes = (v: number) => recomputable[v] === 1 && outputs.start[v + 1] > outputs.start[v];
  let first = 0;
  while (first < nodeCount && !makes(first)) first++;
  let end = nodeCount;
  while (end > first && !makes(end - 1)) end--;
  if (end - first < 2 * fewestNodes) return [];
  const cuts = narrowCuts(graph, first, end);
  const backward = backwardCuts(graph, cuts, end);
  const segments: Segment[] = [];
  let from = first;
  let backwardTo = backward.end;
  for (const [i, to] of cuts.entries()) {
    // A segment without a section of the backward pass is merged with the next one.
    if (backward.from[i] >= backwardTo) continue;
    segments.push({ from, to, backwardFrom: backward.from[i], backwardTo });
    from = to;
    backwardTo = backward.from[i];
  }
  return segments.length < 2 ? [] : segments;
}

/** Joins `size` consecutive segments at a time, counted from the last. @internal */
export function joinSegments(segments: readonly Segment[], size: number): Segment[] {
  const joined: Segment[] = [];
  for (let end = segments.length; end > 0; end -= size) {
    const first = segments[Math.max(0, end - size)];
    const last = segments[end - 1];
    joined.push({ from: first.from, to: last.to, backwardFrom: last.backwardFrom, backwardTo: first.backwardTo });
  }
  return joined.reverse();
}

/** Returns the ends of the segments of the nodes `first` to `end`, in order. The last one is `end`. */
function narrowCuts(graph: PlanningGraph, first: number, end: number): number[] {
  const { outputs, consumers, bytes } = graph;
  /** For each node, the change in the number of values that cross a cut right before it. */
  const crossing = new Int32Array(end + 2);
  for (let v = first; v < end; v++)
    for (let i = outputs.start[v]; i < outputs.start[v + 1]; i++) {
      const w = outputs.values[i];
      let lastUse = v;
      for (let k = consumers.start[w]; k < consumers.start[w + 1]; k++)
        if (consumers.values[k] < end) lastUse = Math.max(lastUse, consumers.values[k]);
      if (bytes[w] === 0 || lastUse - v > longLife * (end - first)) continue;
      crossing[v + 1]++;
      crossing[lastUse + 1]--;
    }
  const cuts: number[] = [];
  let last = first;
  for (let at = first + 1, count = 0; at < end; at++) {
    count += crossing[at];
    if (count > 1 || at - last < fewestNodes || end - at < fewestNodes) continue;
    cuts.push(at);
    last = at;
  }
  return [...cuts, end];
}

/**
 * Finds where the backward pass begins with each segment: at the first node that reads a value internal to the segment.
 */
function backwardCuts(graph: PlanningGraph, cuts: readonly number[], end: number): { from: number[]; end: number } {
  const { nodeCount, producer, inputs, recomputable } = graph;
  const segmentOf = new Int32Array(end);
  for (let v = 0, s = 0; v < end; v++) {
    while (v >= cuts[s]) s++;
    segmentOf[v] = s;
  }
  const leaves = new Uint8Array(graph.valueCount);
  for (let v = 0; v < end; v++)
    for (let i = inputs.start[v]; i < inputs.start[v + 1]; i++) {
      const w = inputs.values[i];
      if (segmentOf[producer[w]] !== segmentOf[v]) leaves[w] = 1;
    }
  const from = cuts.map(() => nodeCount);
  let last = end;
  for (let v = end; v < nodeCount; v++)
    for (let i = inputs.start[v]; i < inputs.start[v + 1]; i++) {
      const w = inputs.values[i];
      const u = producer[w];
      if (u >= end || recomputable[u] === 0) continue;
      last = v + 1;
      if (leaves[w] === 0) from[segmentOf[u]] = Math.min(from[segmentOf[u]], v);
    }
  // In the backward pass, a later segment begins no later than an earlier one.
  for (let s = 1; s < from.length; s++) from[s] = Math.min(from[s], from[s - 1]);
  return { from: from.map((at) => Math.min(at, last)), end: last };
}
