import { type Plan, row } from "@remat/trace";
import type { TraceSequenceGraph } from "./sequence-graph-of-trace.js";

/** A plan as a sequence of nodes. */
export interface PlanSequence {
  readonly nodes: Int32Array;
  /** The step of the plan at each place in the sequence, or -1 for storages that no op makes, and for reloads. */
  readonly stepOfPlace: Int32Array;
  /** The place at which each step is done, before any reload after it. */
  readonly placeOfStep: Int32Array;
}

/**
 * Returns the nodes of `graph` in the order in which `plan` runs them. A reload of a node is `~node`, as in
 * `holdSequence`.
 *
 * Storages that JavaScript creates are placed directly before the next op. An executor recomputes ops right after the
 * preceding step, so user code creates these storages only after the recomputation. If an op completes the result of a
 * recomputed op in place, both run again as one.
 *
 * @param graph the graph of the trace that the plan is for
 */
export function sequenceOfPlan(plan: Plan, graph: TraceSequenceGraph): PlanSequence {
  const { opOfNode, replayOps, nodeCount } = graph;
  const nodeOfOp = new Map<number, number>();
  for (let node = 0; node < nodeCount; node++) if (opOfNode[node] >= 0) nodeOfOp.set(opOfNode[node], node);
  const nodes: number[] = [];
  const stepOfPlace: number[] = [];
  const push = (node: number, step: number): void => {
    nodes.push(node);
    stepOfPlace.push(step);
  };
  let next = 0;
  let finishing: readonly number[] = [];
  const placeOfStep = new Int32Array(plan.steps.length);
  const run = ({ op, isRecomputed }: Plan["steps"][number], step: number): void => {
    const node = nodeOfOp.get(op);
    if (node === undefined || (isRecomputed && finishing.includes(op))) return;
    if (isRecomputed) {
      finishing = Array.from(row(replayOps, node)).filter((each) => each !== op);
      push(node, step);
      return;
    }
    finishing = [];
    for (; next < node; next++) if (opOfNode[next] < 0) push(next, -1);
    next = node + 1;
    push(node, step);
  };
  plan.steps.forEach((each, step) => {
    run(each, step);
    placeOfStep[step] = nodes.length - 1;
    for (const value of each.reload ?? []) {
      const node = "op" in value ? nodeOfOp.get(value.op) : undefined;
      if (node !== undefined) push(~node, -1);
    }
  });
  for (; next < nodeCount; next++) if (opOfNode[next] < 0) push(next, -1);
  return { nodes: Int32Array.from(nodes), stepOfPlace: Int32Array.from(stepOfPlace), placeOfStep };
}
