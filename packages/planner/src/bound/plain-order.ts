import { holdSequence } from "@remat/memory/sequence";
import type { PlanningGraph } from "../graph/planning-graph.js";

/**
 * A stretch between two consecutive uses of a value. Strictly inside it, the value is alive but not used by the plain
 * order. @internal
 */
export interface Gap {
  readonly value: number;
  readonly from: number;
  readonly to: number;
}

/** The schedule that runs every node once, in the given order. @internal */
export interface PlainOrder {
  /** Bytes in use while each node runs. */
  readonly memory: Float64Array;
  /** For each node, the gaps of its values, sorted by their beginnings. */
  readonly gaps: readonly (readonly Gap[])[];
  /**
   * For each value, the node that reads it last, or the node that creates it if no node reads it. For a result, the
   * number of nodes.
   */
  readonly lastUse: Int32Array;
}

/** Returns the plain order of a graph. @internal */
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
