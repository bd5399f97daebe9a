import { holdSequence, nodeAt } from "@remat/memory/sequence";
import type { PlanningGraph } from "../graph/planning-graph.js";

/** Memory and cost of a schedule. See {@link simulateSchedule}. */
export interface SimulatedSchedule {
  /** The most bytes in use at any step. */
  readonly peakBytes: number;
  /** Sum of the costs of all steps, including transfers. */
  readonly cost: number;
  /** The first step at which the peak is reached. */
  readonly peakStep: number;
}

/**
 * Returns the peak and the cost of running `sequence`, with the memory of `holdSequence` of `@remat/memory`. The
 * sequence consists of node indices and must contain every node, any number of times. `~node` reloads the offloaded
 * value of a node. Returns undefined if a step reads a value that no earlier step has created, or if a node is missing.
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
