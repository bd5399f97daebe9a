import { holdSequence } from "@remat/memory/sequence";
import type { PlanningGraph } from "../graph/planning-graph.js";

/** A stretch between two consecutive times, strictly inside which a value is held and not touched by the plain order. @internal */
export interface Gap {
  readonly value: number;
  readonly from: number;
  readonly to: number;
}

/** Running every node once, in the given order. @internal */
export interface PlainOrder {
  /** Bytes held while each node runs. */
  readonly memory: Float64Array;
  /** Per node the gaps of its values, by where they begin. */
  readonly gaps: readonly (readonly Gap[])[];
  /** Per value the node that reads it last; itself made by it where nothing does; the number of nodes for a result. */
  readonly lastUse: Int32Array;
}

/** @internal */
export function plainOrder(graph: PlanningGraph): PlainOrder {
  const { nodeCount, valueCount, producer, consumers } = graph;
  const lastUse = new Int32Array(valueCount);
  const gaps: Gap[][] = Array.from({ length: nodeCount }, () => []);
  for (let value = 0; value < valueCount; value++) {
    let from = producer[value];
    const visit = (to: number) => {
      if (to - from > 1) gaps[producer[value]].push({ value, from, to });
      from = to;
    };
    for (let i = consumers.start[value]; i < consumers.start[value + 1]; i++) visit(consumers.values[i]);
    if (graph.result[value] === 1) visit(nodeCount);
    lastUse[value] = from;
  }
  for (const ofNode of gaps) ofNode.sort((a, b) => a.from - b.from);
  const { heldBytes: memory } = holdSequence(
    graph,
    Int32Array.from({ length: nodeCount }, (_, v) => v),
  )!;
  return { memory, gaps, lastUse };
}
