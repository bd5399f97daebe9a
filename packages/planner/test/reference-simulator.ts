import type { PlanningGraph } from "../src/graph/planning-graph.js";

/**
 * Peak and cost of a sequence straight from the definition, step by step: what is alive at a step is every value that was made at or
 * before it and is read at or after it before its node is recomputed, or that this step makes.
 */
export function simulateByDefinition(graph: PlanningGraph, sequence: readonly number[]) {
  const row = (rows: { start: Int32Array; values: Int32Array }, v: number) =>
    [...rows.values].slice(rows.start[v], rows.start[v + 1]);
  const memory = sequence.map((v, step) => {
    let bytes = graph.baseBytes + graph.workspaceBytes[v];
    for (let w = 0; w < graph.valueCount; w++) {
      const madeUpToNow = sequence.slice(0, step + 1).includes(graph.producer[w]);
      const rest = sequence.slice(step + 1);
      const nextRun = rest.indexOf(graph.producer[w]);
      const readers = nextRun < 0 ? rest : rest.slice(0, nextRun + 1);
      const isReadLater =
        readers.some((reader) => row(graph.inputs, reader).includes(w)) || (nextRun < 0 && graph.result[w] === 1);
      const isTouchedNow = row(graph.inputs, v).includes(w) || graph.producer[w] === v;
      if (madeUpToNow && (isReadLater || isTouchedNow)) bytes += graph.bytes[w];
    }
    return bytes;
  });
  return {
    memory,
    peakBytes: Math.max(graph.baseBytes, ...memory),
    cost: sequence.reduce((sum, v) => sum + graph.cost[v], 0),
  };
}
