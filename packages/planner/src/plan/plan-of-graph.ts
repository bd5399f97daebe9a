import { valuesFreedAfter, valuesOffloadedAfter } from "@remat/memory/sequence";
import { fingerprintOfOps, type Plan, type PlanNode, type PlanStep, type PlanValue, row } from "@remat/trace";
import type { PlanningGraph } from "../graph/planning-graph.js";
import type { Rematerialization } from "../rematerialize.js";
import { freeAfter, type PlanningStep, reloadAfter } from "./planning-step.js";

/**
 * Returns a schedule of a graph file as a plan. The ops of the plan are the nodes.
 *
 * @example
 * await fs.writeFile("plan.json", writePlan(planOfGraph(graph, "vgg16", await rematerialize(graph, { budgetBytes }))));
 */
export function planOfGraph(graph: PlanningGraph, name: string, schedule: Rematerialization): Plan {
  const ops = Array.from({ length: graph.nodeCount }, (_, v) => planNode(graph, v));
  return {
    subject: { kind: "graph", name, fingerprint: fingerprintOfOps(ops) },
    origin: originOf(schedule),
    predicted: predictionOf(schedule),
    ops,
    sources: [],
    steps: stepsOf(graph, schedule.sequence),
  };
}

function stepsOf(graph: PlanningGraph, sequence: Int32Array): PlanStep[] {
  const { producer, outputs } = graph;
  const freed = valuesFreedAfter(graph, sequence);
  const offloaded = valuesOffloadedAfter(graph, sequence);
  const nameOf = (w: number): PlanValue => ({ op: producer[w], output: w - outputs.start[producer[w]] });
  const runs = new Set<number>();
  const steps: PlanningStep[] = [];
  sequence.forEach((op, p) => {
    if (op < 0) reloadAfter(steps[steps.length - 1], nameOf(outputs.values[outputs.start[~op]]));
    else steps.push({ op, isRecomputed: runs.has(op), free: [] });
    if (op >= 0) runs.add(op);
    freeAfter(steps[steps.length - 1], freed[p], offloaded.get(p), nameOf);
  });
  return steps;
}

function planNode(graph: PlanningGraph, v: number): PlanNode {
  const { inputs, outputs, bytes, cost, producer } = graph;
  return {
    name: graph.nodeName(v),
    inputs: Array.from(row(inputs, v), (w) => producer[w]),
    outputBytes: Array.from(bytes.subarray(outputs.start[v], outputs.start[v + 1])),
    cost: cost[v],
  };
}

/** Returns the origin of a plan for a schedule. @internal */
export function originOf(schedule: Rematerialization): Plan["origin"] {
  const { budgetBytes, order, seed, iterations } = schedule;
  return { method: "annealing", budgetBytes, order, seed, iterations };
}

/** Returns the prediction of a plan for a schedule. @internal */
export function predictionOf(schedule: Rematerialization): Plan["predicted"] {
  const { peakBytes, cost, overhead, lowerBound, gap, plain } = schedule;
  return { peakBytes, cost, overhead, lowerBound, gap, plain };
}
