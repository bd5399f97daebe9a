import type { PlanningGraph } from "../graph/planning-graph.js";

/**
 * The values of a graph for random selection. A value is chosen more often if it frees more bytes per cost of
 * recomputing or reloading it. @internal
 */
export class WeightedValues {
  /** Running sums of the weights. */
  private readonly sums: Float64Array;

  constructor(graph: PlanningGraph) {
    const { bytes, cost, producer, recomputable, valueCount, nodeCount, transfers } = graph;
    let totalCost = 0;
    for (let v = 0; v < nodeCount; v++) totalCost += cost[v];
    // A node without cost is cheap, but must not be infinitely attractive.
    const leastCost = totalCost / Math.max(1, nodeCount) / 50 || 1;
    this.sums = new Float64Array(valueCount + 1);
    for (let w = 0; w < valueCount; w++) {
      const v = producer[w];
      const recomputation = recomputable[v] === 1 ? cost[v] : Number.POSITIVE_INFINITY;
      const transfer = transfers === undefined ? Number.POSITIVE_INFINITY : transfers.offload[v] + transfers.reload[v];
      const weight = Math.sqrt(bytes[w] / Math.max(Math.min(recomputation, transfer), leastCost));
      this.sums[w + 1] = this.sums[w] + weight;
    }
  }

  /** Returns the value at `share`, from 0 to 1, of the sum of all weights. */
  pick(share: number): number {
    const { sums } = this;
    const target = share * sums[sums.length - 1];
    let low = 0;
    let high = sums.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (sums[middle] <= target) low = middle;
      else high = middle;
    }
    return low;
  }
}
