import type { PlanningGraph } from "../graph/planning-graph.js";

export interface SimulatedSchedule {
  /** The most bytes held at any step. */
  readonly peakBytes: number;
  /** Sum of the costs of all steps. */
  readonly cost: number;
  /** The step at which the peak is reached first. */
  readonly peakStep: number;
}

/**
 * Peak and cost of running `sequence` (node indices, any node any number of times): each step reads the latest values made before it,
 * and a value goes after its last reader, or after its own step if it has none. Results of the last making are held to the end.
 * Undefined where a step reads what no earlier step has made, or a node is missing.
 */
export function simulateSchedule(graph: PlanningGraph, sequence: ArrayLike<number>): SimulatedSchedule | undefined {
  const { inputs, outputs, bytes, cost, workspaceBytes, result, nodeCount, valueCount } = graph;
  const length = sequence.length;
  // By value, the step of its latest making; by step, what becomes alive at it and what goes after it.
  const madeAt = new Int32Array(valueCount).fill(-1);
  const lastRead = new Int32Array(valueCount);
  const born = new Float64Array(length);
  const gone = new Float64Array(length + 1);
  const ran = new Uint8Array(nodeCount);
  const close = (value: number) => {
    if (madeAt[value] >= 0) gone[lastRead[value]] += bytes[value];
  };
  let total = 0;
  for (let step = 0; step < length; step++) {
    const v = sequence[step];
    ran[v] = 1;
    total += cost[v];
    for (let i = inputs.start[v]; i < inputs.start[v + 1]; i++) {
      const value = inputs.values[i];
      if (madeAt[value] < 0) return undefined;
      lastRead[value] = step;
    }
    for (let i = outputs.start[v]; i < outputs.start[v + 1]; i++) {
      const value = outputs.values[i];
      close(value);
      madeAt[value] = step;
      lastRead[value] = step;
      born[step] += bytes[value];
    }
  }
  if (ran.includes(0)) return undefined;
  for (let value = 0; value < valueCount; value++) {
    if (result[value] === 1) lastRead[value] = length;
    close(value);
  }
  let held = graph.baseBytes;
  let peakBytes = held;
  let peakStep = 0;
  for (let step = 0; step < length; step++) {
    held += born[step];
    const now = held + workspaceBytes[sequence[step]];
    if (now > peakBytes) {
      peakBytes = now;
      peakStep = step;
    }
    held -= gone[step];
  }
  return { peakBytes, cost: total, peakStep };
}
