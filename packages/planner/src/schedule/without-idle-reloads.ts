import { nodeAt } from "@remat/memory/sequence";
import type { PlanningGraph } from "../graph/planning-graph.js";

/**
 * Returns a sequence without useless reloads: those whose value is not read before it is recomputed or reloaded again.
 *
 * @internal
 */
export function withoutIdleReloads(graph: PlanningGraph, sequence: Int32Array): Int32Array {
  if (graph.transfers === undefined) return sequence;
  const { inputs, outputs, producer } = graph;
  /** For each node, whether its value is read before it is recomputed or reloaded next. */
  const isRead = new Uint8Array(graph.nodeCount);
  const kept: number[] = [];
  for (let step = sequence.length - 1; step >= 0; step--) {
    const v = nodeAt(sequence, step);
    const isReload = sequence[step] < 0;
    if (isReload && isRead[v] === 0 && graph.result[outputs.values[outputs.start[v]]] === 0) continue;
    isRead[v] = 0;
    if (!isReload) for (let i = inputs.start[v]; i < inputs.start[v + 1]; i++) isRead[producer[inputs.values[i]]] = 1;
    kept.push(sequence[step]);
  }
  return Int32Array.from(kept.reverse());
}
