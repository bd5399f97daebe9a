import { valuesFreedAfter } from "@remat/memory";
import { fingerprintOfOps, type Plan, type PlanNode, row } from "@remat/trace";
import type { PlanningGraph } from "../graph/planning-graph.js";
import type { Rematerialization } from "../rematerialize.js";

/**
 * Returns a schedule of a graph file as a plan: its ops are the nodes.
 *
 * @example
 * await fs.writeFile("plan.json", writePlan(planOfGraph(graph, "vgg16", await rematerialize(graph, { budgetBytes }))));
 */
export function planOfGraph(graph: PlanningGraph, name: string, schedule: Rematerialization): Plan {
  const ops = Array.from({ length: graph.nodeCount }, (_, v) => planNode(graph, v));
  const freed = valuesFreedAfter(graph, schedule.sequence);
  const runs = new Set<number>();
  const { producer, outputs } = graph;
  return {
    subject: { kind: "graph", name, fingerprint: fingerprintOfOps(ops) },
    origin: originOf(schedule),
    predicted: predictionOf(schedule),
    ops,
    sources: [],
    steps: Array.from(schedule.sequence, (op, step) => {
      const isRecomputed = runs.has(op);
      runs.add(op);
      const free = freed[step].map((w) => ({ op: producer[w], output: w - outputs.start[producer[w]] }));
      return { op, isRecomputed, free };
    }),
  };
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

/** @internal */
export function originOf(schedule: Rematerialization): Plan["origin"] {
  const { budgetBytes, order, seed, iterations, seconds } = schedule;
  return { method: "annealing", budgetBytes, order, seed, iterations, seconds };
}

/** @internal */
export function predictionOf(schedule: Rematerialization): Plan["predicted"] {
  const { peakBytes, cost, overhead, lowerBound, gap, plain } = schedule;
  return { peakBytes, cost, overhead, lowerBound, gap, plain };
}
