import { canBeReloaded, type PlanningGraph } from "../graph/planning-graph.js";
import { plainOrder } from "./plain-order.js";

/** The memory that every schedule needs. */
export interface WorkingSet {
  /** A lower bound on the peak of any schedule, in bytes. */
  readonly bytes: number;
  /** The node that needs this much while it runs. */
  readonly node: number;
}

/**
 * Returns a lower bound on the peak of any schedule: permanent memory, plus the inputs, outputs and workspace of the
 * node that needs the most. If nodes first run in the given order, it also counts values that must stay live during
 * that node, because they can be neither recomputed nor reloaded.
 *
 * @param isFree whether nodes may first run in another order than the given one
 * @example
 * const { bytes, node } = workingSet(graph, false);
 * console.log(`${graph.nodeName(node)} needs ${bytes} bytes`);
 */
export function workingSet(graph: PlanningGraph, isFree: boolean): WorkingSet {
  const { nodeCount, bytes, inputs, outputs, workspaceBytes, baseBytes } = graph;
  const waiting = new Float64Array(nodeCount + 1);
  // Otherwise no value has to wait.
  if (!isFree && graph.recomputable.includes(0))
    for (const [v, gaps] of plainOrder(graph).gaps.entries())
      if (graph.recomputable[v] === 0 && !canBeReloaded(graph, v))
        for (const { value, from, to } of gaps) {
          waiting[from + 1] += bytes[value];
          waiting[to] -= bytes[value];
        }
  let most = { bytes: baseBytes, node: 0 };
  let held = 0;
  for (let v = 0; v < nodeCount; v++) {
    held += waiting[v];
    let needed = baseBytes + held + workspaceBytes[v];
    for (let i = inputs.start[v]; i < inputs.start[v + 1]; i++) needed += bytes[inputs.values[i]];
    for (let i = outputs.start[v]; i < outputs.start[v + 1]; i++) needed += bytes[outputs.values[i]];
    if (needed > most.bytes) most = { bytes: needed, node: v };
  }
  return most;
}
