import { fingerprintOf, type Plan } from "@remat/trace";
import type { PlanningGraph } from "../graph/planning-graph.js";
import type { Rematerialization } from "../rematerialize.js";
import { valuesGoneAfter } from "../schedule/schedule-deaths.js";

/**
 * A schedule of a graph file as a plan: its ops are the nodes.
 *
 * @example
 * await fs.writeFile("plan.json", writePlan(planOfGraph(graph, "vgg16", await rematerialize(graph, { budgetBytes }))));
 */
export function planOfGraph(graph: PlanningGraph, name: string, schedule: Rematerialization): Plan {
  const ops = Array.from({ length: graph.nodeCount }, (_, v) => describeNode(graph, v));
  const gone = valuesGoneAfter(graph, schedule.sequence);
  const runs = new Set<number>();
  const { producer, outputs } = graph;
  return {
    subject: { kind: "graph", name, fingerprint: fingerprintOf(ops) },
    origin: originOf(schedule),
    predicted: predictionOf(schedule),
    ops,
    sources: [],
    steps: Array.from(schedule.sequence, (op, step) => {
      const isAgain = runs.has(op);
      runs.add(op);
      const drop = gone[step].map((w) => ({ op: producer[w], output: w - outputs.start[producer[w]] }));
      return { op, isAgain, drop };
    }),
  };
}

function describeNode(graph: PlanningGraph, v: number): string {
  const { inputs, outputs, bytes, cost, producer } = graph;
  const reads = Array.from(inputs.values.subarray(inputs.start[v], inputs.start[v + 1]), (w) => producer[w]);
  const makes = bytes.subarray(outputs.start[v], outputs.start[v + 1]);
  return `${graph.nodeName(v)} (${reads.join(",")}): ${makes.join(",")} bytes, cost ${cost[v]}`;
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
