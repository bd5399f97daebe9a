import { type PlanningGraph, type PlanningNode, planningGraph } from "../graph/planning-graph.js";
import type { Segment } from "./forward-segments.js";

/**
 * A segment as a graph of its own. Its first node creates the values from before the segment. Then follow the segment's
 * forward nodes, a node `rest` for everything until the backward pass returns to the segment, and the segment's
 * backward nodes, which run once.
 *
 * Values that stay alive beyond the segment's backward pass in any plan (weights, values that other segments need) have
 * size 0 here, because no plan for the segment affects them. @internal
 */
export interface SegmentGraph {
  readonly graph: PlanningGraph;
  readonly rest: number;
  /** For each node, the node of the whole graph, or -1 for the two artificial nodes. */
  readonly nodeOf: Int32Array;
}

/** Builds the graph of a segment. @internal */
export function segmentGraph(graph: PlanningGraph, segment: Segment, lastUse: Int32Array): SegmentGraph {
  const { from, to, backwardFrom, backwardTo } = segment;
  const { bytes, producer, inputs, outputs, consumers } = graph;
  const rest = 1 + (to - from);
  const nodeOf: number[] = [-1];
  for (let v = from; v < to; v++) nodeOf.push(v);
  nodeOf.push(-1);
  for (let v = backwardFrom; v < backwardTo; v++) nodeOf.push(v);
  const localOf = (v: number) => {
    if (v < from) return 0;
    if (v < to) return v - from + 1;
    return v < backwardFrom ? rest : v - backwardFrom + rest + 1;
  };
  /** For each value created outside, its place among the outputs of the first node or of `rest`. */
  const placeOf = new Map<number, readonly [number, number]>();
  const madeOutside: [number[], number[]] = [[], []];
  const place = (w: number): readonly [number, number] => {
    const node = localOf(producer[w]);
    if (node !== 0 && node !== rest) return [node, w - outputs.start[producer[w]]];
    let known = placeOf.get(w);
    if (known === undefined) {
      const made = madeOutside[node === 0 ? 0 : 1];
      known = [node, made.length];
      made.push(lastUse[w] >= backwardTo ? 0 : bytes[w]);
      placeOf.set(w, known);
    }
    return known;
  };
  const waited: (readonly [number, number])[] = [];
  const nodes = nodeOf.map((v): PlanningNode => {
    if (v < 0) return { name: "", cost: 0, outputBytes: [], inputs: [] };
    const results: number[] = [];
    for (let i = outputs.start[v]; i < outputs.start[v + 1]; i++) {
      const w = outputs.values[i];
      if (lastUse[w] >= backwardTo) results.push(i - outputs.start[v]);
      else if (v < to && hasReaderBetween(w, to, backwardFrom)) waited.push([localOf(v), i - outputs.start[v]]);
    }
    return {
      name: "",
      cost: graph.cost[v],
      outputBytes: Array.from(outputs.values.subarray(outputs.start[v], outputs.start[v + 1]), (w) => bytes[w]),
      inputs: Array.from(inputs.values.subarray(inputs.start[v], inputs.start[v + 1]), place),
      workspaceBytes: graph.workspaceBytes[v],
      recomputable: v < to && graph.recomputable[v] === 1,
      results,
    };
  });
  nodes[0] = { name: "", cost: 0, outputBytes: madeOutside[0], inputs: [], recomputable: false };
  nodes[rest] = { name: "", cost: 0, outputBytes: madeOutside[1], inputs: waited, recomputable: false };
  return { graph: planningGraph(nodes), rest, nodeOf: Int32Array.from(nodeOf) };

  function hasReaderBetween(w: number, begin: number, end: number): boolean {
    for (let i = consumers.start[w]; i < consumers.start[w + 1]; i++)
      if (consumers.values[i] >= begin && consumers.values[i] < end) return true;
    return false;
  }
}

/**
 * Returns whether plans for one segment can be used for the other. With `sizes`, the plans must also be equally good
 * for the other segment.
 * @internal
 */
export function isAlike(a: SegmentGraph, b: SegmentGraph, what: "shape" | "sizes"): boolean {
  const [g, h] = [a.graph, b.graph];
  const shapes = [
    [g.inputs.start, h.inputs.start],
    [g.inputs.values, h.inputs.values],
    [g.outputs.start, h.outputs.start],
    [g.recomputable, h.recomputable],
    [g.result, h.result],
  ] as const;
  const sizes = [
    [g.bytes, h.bytes],
    [g.cost, h.cost],
    [g.workspaceBytes, h.workspaceBytes],
  ] as const;
  return a.rest === b.rest && (what === "shape" ? shapes : [...shapes, ...sizes]).every(([x, y]) => isEqual(x, y));
}

function isEqual(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
