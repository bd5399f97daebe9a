import { holdSequence, nodeAt } from "@remat/memory/sequence";
import type { PlanningGraph } from "../graph/planning-graph.js";

export interface SimulatedSchedule {
  /** The most bytes held at any step. */
  readonly peakBytes: number;
  /** Sum of the costs of all steps, transfers included. */
  readonly cost: number;
  /** The step at which the peak is reached first. */
  readonly peakStep: number;
}

/**
 * Returns peak and cost of running `sequence` (node indices, any node any number of times; `~node` reloads what was offloaded of it), in which every node must be: what `holdSequence` of
 * `@remat/memory` says that it holds. Undefined where a step reads what no earlier step has made, or a node is missing.
 */
export function simulateSchedule(graph: PlanningGraph, sequence: ArrayLike<number>): SimulatedSchedule | undefined {
  const ran = new Uint8Array(graph.nodeCount);
  let cost = 0;
  const { transfers } = graph;
  const isOffloaded = new Uint8Array(graph.nodeCount);
  for (let step = 0; step < sequence.length; step++) {
    const v = nodeAt(sequence, step);
    if (sequence[step] >= 0) {
      ran[v] = 1;
      cost += graph.cost[v];
      continue;
    }
    if (isOffloaded[v] === 0) cost += transfers?.offload[v] ?? Number.POSITIVE_INFINITY;
    cost += transfers?.reload[v] ?? Number.POSITIVE_INFINITY;
    isOffloaded[v] = 1;
  }
  const held = ran.includes(0) ? undefined : holdSequence(graph, sequence);
  return held && { peakBytes: held.peakBytes, cost, peakStep: held.peakStep };
}
