import { readGraphFile } from "@remat/planner/graph";
import { layeredGraph } from "./layered-graph.js";
import { planGraph } from "./plan-graph.js";

/** Number of changes that the search tries per second of CPU time, on a random graph with this many nodes. */
export async function movesPerSecond(nodes) {
  const graph = readGraphFile(layeredGraph(nodes, 5.9, 1));
  const { iterations, cpuS } = await planGraph(graph, { budget: 0.8, cpuS: 4, boundTimeMs: 0 });
  return {
    what: `a thousand moves, ${nodes} nodes`,
    value: (1e6 * cpuS) / iterations,
    unit: "ms",
    note: `${Math.round(iterations / cpuS)} a second`,
  };
}
