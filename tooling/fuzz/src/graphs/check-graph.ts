import { rematerialize, simulateSchedule } from "@remat/planner";
import { type PlanningGraph } from "@remat/planner/graph";
import { cheapestCost } from "../../../../packages/planner/test/exhaustive-search.js";
import { simulateByDefinition } from "../../../../packages/planner/test/reference-simulator.js";

/**
 * Numbers of changes to try before concluding that the search finds nothing better. One of a quarter of a million
 * graphs needs the second.
 */
const efforts = [4000, 20_000, 100_000, 400_000];

/**
 * Plans a graph within a share of its plain peak, and compares its cost with the cheapest of all schedules, found by
 * exhaustive search. Returns any difference, or undefined.
 */
export async function checkGraph(
  graph: PlanningGraph,
  share: number,
  order: "fixed" | "free",
): Promise<string | undefined> {
  const inOrder = Array.from({ length: graph.nodeCount }, (_, v) => v);
  const plainPeak = simulateSchedule(graph, inOrder)?.peakBytes ?? 0;
  const budgetBytes = Math.max(1, Math.floor(share * plainPeak));
  const cheapest = cheapestCost(graph, budgetBytes, order === "free");
  let wrong: string | undefined;
  for (const [seed, iterations] of efforts.entries()) {
    const found = await rematerialize(graph, { budgetBytes, order, iterations, seed, boundTimeMs: seed * 100 });
    const { peakBytes, cost } = simulateByDefinition(graph, [...found.sequence]);
    if (found.peakBytes !== peakBytes || found.cost !== cost)
      return `${found.sequence} holds ${peakBytes} bytes and costs ${cost}, found ${found.peakBytes} and ${found.cost}`;
    if (found.isFeasible !== peakBytes <= budgetBytes)
      return `${peakBytes} bytes are ${found.isFeasible ? "" : "not "}said to be within ${budgetBytes}`;
    if (found.isProvenInfeasible && cheapest !== undefined) return `a cost of ${cheapest} is said to be impossible`;
    if (cheapest !== undefined && found.lowerBound > cheapest * (1 + 1e-6))
      return `a cost of ${cheapest} is possible, the bound is ${found.lowerBound}`;
    if (found.isFeasible && (cheapest === undefined || cost < cheapest))
      return `a cost of ${cost} is found, where the cheapest is ${cheapest}`;
    if (found.isFeasible === (cheapest !== undefined) && (cheapest === undefined || cost === cheapest))
      return undefined;
    wrong = `found a cost of ${found.isFeasible ? cost : "nothing"} within ${budgetBytes} bytes, where ${cheapest} is the least`;
  }
  return wrong;
}
