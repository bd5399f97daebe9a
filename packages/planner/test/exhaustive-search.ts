import type { PlanningGraph } from "../src/graph/planning-graph.js";
import { simulateByDefinition } from "./reference-simulator.js";

/** Inputs of each node, as bits, in a graph whose nodes have one value each. */
export function inputSets(graph: PlanningGraph): number[] {
  return Array.from({ length: graph.nodeCount }, (_, v) => {
    let set = 0;
    for (let i = graph.inputs.start[v]; i < graph.inputs.start[v + 1]; i++) set |= 1 << graph.inputs.values[i];
    return set;
  });
}

/** Bytes held where a set of values is alive, by set. */
export function bytesOfSets(graph: PlanningGraph): Float64Array {
  const bytes = new Float64Array(1 << graph.nodeCount).fill(graph.baseBytes);
  for (let set = 1; set < bytes.length; set++) {
    const w = 31 - Math.clz32(set);
    bytes[set] = bytes[set ^ (1 << w)] + graph.bytes[w];
  }
  return bytes;
}

/**
 * The cheapest cost of any schedule within a budget, by Dijkstra's algorithm over the live values and executed nodes.
 * Undefined if there is none. If values can be offloaded, the state also includes those in host memory. For tiny graphs
 * whose nodes have one value each and no workspace, with small integer costs.
 */
export function cheapestCost(graph: PlanningGraph, budgetBytes: number, isFree: boolean): number | undefined {
  const n = graph.nodeCount;
  const inputs = inputSets(graph);
  const bytes = bytesOfSets(graph);
  const all = (1 << n) - 1;
  const { transfers } = graph;
  const costs = new Int32Array(1 << ((transfers === undefined ? 2 : 3) * n)).fill(-1);
  costs[0] = 0;
  // A bucket for each cost.
  const buckets: (number[] | undefined)[] = [[0]];
  for (let cost = 0; cost < buckets.length; cost++) {
    const bucket = buckets[cost] ?? [];
    for (let i = 0; i < bucket.length; i++) {
      const state = bucket[i];
      if (costs[state] !== cost) continue;
      const live = state & all;
      const done = (state >> n) & all;
      const onHost = state >> (2 * n);
      if (done === all) return cost;
      const reach = (
        next: { readonly live?: number; readonly done?: number; readonly onHost?: number },
        by: number,
      ) => {
        const id = ((next.onHost ?? onHost) << (2 * n)) | ((next.done ?? done) << n) | (next.live ?? live);
        const nextCost = cost + by;
        if (costs[id] >= 0 && costs[id] <= nextCost) return;
        costs[id] = nextCost;
        while (buckets.length <= nextCost) buckets.push(undefined);
        (buckets[nextCost] ??= []).push(id);
      };
      for (let w = 0; w < n; w++) {
        const bit = 1 << w;
        if (live & bit) reach({ live: live & ~bit }, 0);
        if (transfers === undefined || transfers.offload[w] === Number.POSITIVE_INFINITY) continue;
        if (live & bit && !(onHost & bit)) reach({ onHost: onHost | bit }, transfers.offload[w]);
        if (onHost & bit && !(live & bit) && bytes[live | bit] <= budgetBytes)
          reach({ live: live | bit }, transfers.reload[w]);
      }
      for (let v = 0; v < n; v++) {
        const isFirst = !(done & (1 << v));
        if (!isFirst && graph.recomputable[v] === 0) continue;
        if (isFirst && !isFree && done !== (1 << v) - 1) continue;
        if ((inputs[v] & ~live) !== 0 || bytes[live | (1 << v)] > budgetBytes) continue;
        reach({ done: done | (1 << v), live: live | (1 << v) }, graph.cost[v]);
      }
    }
  }
  return undefined;
}

/**
 * The smallest budget that any schedule meets, found by trying each one downwards from the plain order's peak. For
 * graphs as above, with integer bytes.
 */
export function smallestBudget(graph: PlanningGraph, isFree: boolean): number {
  let budgetBytes = plainPeak(graph);
  while (cheapestCost(graph, budgetBytes - 1, isFree) !== undefined) budgetBytes--;
  return budgetBytes;
}

/** The peak of running the nodes once, in order. */
export function plainPeak(graph: PlanningGraph): number {
  return simulateByDefinition(
    graph,
    Array.from({ length: graph.nodeCount }, (_, v) => v),
  ).peakBytes;
}

/**
 * Interesting budgets: the smallest, one halfway to the plain order's peak, and the largest that no schedule meets. If
 * the plain order has the lowest peak, only that one.
 */
export function telltaleBudgets(graph: PlanningGraph, isFree: boolean): number[] {
  const least = smallestBudget(graph, isFree);
  const peak = plainPeak(graph);
  const within = least < peak ? [least, Math.floor((least + peak) / 2)] : [];
  return [...new Set([least - 1, ...within])].filter((bytes) => bytes > 0);
}
