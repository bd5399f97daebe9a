import { canBeReloaded, type PlanningGraph } from "../graph/planning-graph.js";
import { plainOrder } from "./plain-order.js";

/** What no schedule can do without. */
export interface WorkingSet {
  /** No schedule has a smaller peak. */
  readonly bytes: number;
  /** The node that needs that much while it runs. */
  readonly node: number;
}

/**
 * Returns the least bytes that any schedule must hold at some moment: what is held all the time, and, for the worst node, its inputs, outputs and
 * workspace; where nodes run first in the given order, also the values waiting there that can be neither recomputed nor reloaded.
 *
 * @example
 * const { bytes, node } = workingSet(graph, false);
 * console.log(`${graph.nodeName(node)} needs ${bytes} bytes`);
 */
export function workingSet(graph: PlanningGraph, isFree: boolean): WorkingSet {
  const { nodeCount, bytes, inputs, outputs, workspaceBytes, baseBytes } = graph;
  const waiting = new Float64Array(nodeCount + 1);
  // Only then does anything wait that has to.
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
