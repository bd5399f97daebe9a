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
  const { nodeCount, valueCount, bytes, producer, consumers, workspaceBytes } = graph;
  const change = new Float64Array(nodeCount + 2);
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
    change[producer[value]] += bytes[value];
    change[from + 1] -= bytes[value];
  }
  for (const ofNode of gaps) ofNode.sort((a, b) => a.from - b.from);
  const memory = new Float64Array(nodeCount);
  let held = graph.baseBytes;
  for (let t = 0; t < nodeCount; t++) {
    held += change[t];
    memory[t] = held + workspaceBytes[t];
  }
  return { memory, gaps, lastUse };
}
