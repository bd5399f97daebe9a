import type { PlanningGraph } from "../src/graph/planning-graph.js";

/**
 * Peak and cost of a sequence straight from the definition, step by step: what is alive at a step is every value that was made at or
 * before it and is read at or after it before its node is recomputed or reloaded, or that this step makes. A step below 0 reloads what node `~step` makes.
 */
export function simulateByDefinition(graph: PlanningGraph, sequence: readonly number[]) {
  const row = (rows: { start: Int32Array; values: Int32Array }, v: number) =>
    [...rows.values].slice(rows.start[v], rows.start[v + 1]);
  const nodes = sequence.map((v) => (v < 0 ? ~v : v));
  const memory = nodes.map((v, step) => {
    const isReload = sequence[step] < 0;
    const reads = (at: number, w: number) => sequence[at] >= 0 && row(graph.inputs, nodes[at]).includes(w);
    let bytes = graph.baseBytes + (isReload ? 0 : graph.workspaceBytes[v]);
    for (let w = 0; w < graph.valueCount; w++) {
      const madeUpToNow = nodes.slice(0, step + 1).includes(graph.producer[w]);
      const nextRun = nodes.indexOf(graph.producer[w], step + 1);
      const last = nextRun < 0 ? nodes.length - 1 : nextRun;
      let isReadLater = nextRun < 0 && graph.result[w] === 1;
      for (let at = step + 1; at <= last; at++) isReadLater ||= reads(at, w);
      const isTouchedNow = reads(step, w) || graph.producer[w] === v;
      if (madeUpToNow && (isReadLater || isTouchedNow)) bytes += graph.bytes[w];
    }
    return bytes;
  });
  return {
    memory,
    peakBytes: Math.max(graph.baseBytes, ...memory),
    cost: nodes.reduce((sum, v, step) => {
      if (sequence[step] >= 0) return sum + graph.cost[v];
      const isFirst = sequence.indexOf(sequence[step]) === step;
      return sum + (isFirst ? graph.transfers!.offload[v] : 0) + graph.transfers!.reload[v];
    }, 0),
  };
}
