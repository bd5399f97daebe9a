import { planningGraphOfTrace, type TracePlanningGraph } from "@remat/planner";
import { type Plan, row, type Trace } from "@remat/trace";

/**
 * What a step holds at each op when it follows a plan: the most from the op before to this one, what runs again in between included.
 *
 * @param trace the one that the plan was made for
 */
export function holdByPlan(
  trace: Trace,
  plan: Plan,
  graph: TracePlanningGraph = planningGraphOfTrace(trace),
): Float64Array {
  const { nodes, opOfStep } = sequenceOf(plan, graph);
  const held = heldAtSteps(graph, nodes);
  const highest = new Float64Array(trace.ops.count);
  let filled = 0;
  let most = 0;
  for (let step = 0; step < nodes.length; step++) {
    if (held[step] > most) most = held[step];
    if (opOfStep[step] < 0) continue;
    // Ops that the graph has no node for hold what the one before them did.
    while (filled <= opOfStep[step]) highest[filled++] = most;
    most = 0;
  }
  const last = filled === 0 ? graph.baseBytes : highest[filled - 1];
  highest.fill(last, filled);
  return highest;
}

/** Nodes in the order in which the plan runs them, and the op that each runs for the first time, or -1. */
function sequenceOf(plan: Plan, graph: TracePlanningGraph): { nodes: Int32Array; opOfStep: Int32Array } {
  const { opOfNode, replayOps, nodeCount } = graph;
  const nodeOfOp = new Map<number, number>();
  for (let node = 0; node < nodeCount; node++) if (opOfNode[node] >= 0) nodeOfOp.set(opOfNode[node], node);
  const nodes: number[] = [];
  const opOfStep: number[] = [];
  const push = (node: number, op: number): void => {
    nodes.push(node);
    opOfStep.push(op);
  };
  let next = 0;
  /** In-place ops that run again as a part of the node before. */
  let finishing: readonly number[] = [];
  for (const { op, isRecomputed } of plan.steps) {
    const node = nodeOfOp.get(op);
    if (node === undefined || (isRecomputed && finishing.includes(op))) continue;
    if (isRecomputed) {
      finishing = Array.from(row(replayOps, node)).filter((each) => each !== op);
      push(node, -1);
      continue;
    }
    finishing = [];
    // What JavaScript makes comes as late as it can: just before the op that it is next to.
    for (; next < node; next++) if (opOfNode[next] < 0) push(next, -1);
    next = node + 1;
    push(node, op);
  }
  for (; next < nodeCount; next++) if (opOfNode[next] < 0) push(next, -1);
  return { nodes: Int32Array.from(nodes), opOfStep: Int32Array.from(opOfStep) };
}

/** Bytes held while each step runs: each reads the latest values made before it, and a value goes after its last reader. */
function heldAtSteps(graph: TracePlanningGraph, nodes: Int32Array): Float64Array {
  const { inputs, outputs, bytes, workspaceBytes, result, valueCount, baseBytes } = graph;
  const length = nodes.length;
  const isMade = new Uint8Array(valueCount);
  const lastRead = new Int32Array(valueCount);
  const change = new Float64Array(length);
  const gone = new Float64Array(length + 1);
  for (let step = 0; step < length; step++) {
    for (const value of row(inputs, nodes[step])) lastRead[value] = step;
    for (const value of row(outputs, nodes[step])) {
      if (isMade[value] === 1) gone[lastRead[value]] += bytes[value];
      isMade[value] = 1;
      lastRead[value] = step;
      change[step] += bytes[value];
    }
  }
  for (let value = 0; value < valueCount; value++)
    if (isMade[value] === 1) gone[result[value] === 1 ? length : lastRead[value]] += bytes[value];
  const held = new Float64Array(length);
  let now = baseBytes;
  for (let step = 0; step < length; step++) {
    now += change[step];
    held[step] = now + workspaceBytes[nodes[step]];
    now -= gone[step];
  }
  return held;
}
