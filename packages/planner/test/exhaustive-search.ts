import type { PlanningGraph } from "../src/graph/planning-graph.js";

/**
 * The cheapest cost of any schedule within a budget, by Dijkstra's algorithm over what is alive and what has run; undefined where there
 * is none. For tiny graphs whose nodes make one value each and need no workspace.
 */
export function cheapestCost(graph: PlanningGraph, budgetBytes: number, isFree: boolean): number | undefined {
  const n = graph.nodeCount;
  const inputs = Array.from({ length: n }, (_, v) =>
    [...graph.inputs.values.subarray(graph.inputs.start[v], graph.inputs.start[v + 1])].reduce(
      (set, w) => set | (1 << w),
      0,
    ),
  );
  const bytesOf = (live: number) => {
    let sum = graph.baseBytes;
    for (let w = 0; w < n; w++) if (live & (1 << w)) sum += graph.bytes[w];
    return sum;
  };
  const all = (1 << n) - 1;
  const costs = new Map<number, number>([[0, 0]]);
  // Costs are small whole numbers: a bucket each.
  const buckets: number[][] = [[0]];
  for (let cost = 0; cost < buckets.length; cost++) {
    const bucket = buckets[cost] ?? [];
    for (let i = 0; i < bucket.length; i++) {
      const state = bucket[i];
      if (costs.get(state) !== cost) continue;
      const live = state & all;
      const done = state >> n;
      if (done === all) return cost;
      const reach = (next: number, nextCost: number) => {
        if ((costs.get(next) ?? Number.POSITIVE_INFINITY) <= nextCost) return;
        costs.set(next, nextCost);
        while (buckets.length <= nextCost) buckets.push([]);
        buckets[nextCost].push(next);
      };
      for (let w = 0; w < n; w++) if (live & (1 << w)) reach((done << n) | (live & ~(1 << w)), cost);
      for (let v = 0; v < n; v++) {
        const isFirst = !(done & (1 << v));
        if (isFirst && !isFree && done !== (1 << v) - 1) continue;
        if ((inputs[v] & ~live) !== 0 || bytesOf(live | (1 << v)) > budgetBytes) continue;
        reach(((done | (1 << v)) << n) | live | (1 << v), cost + graph.cost[v]);
      }
    }
  }
  return undefined;
}
