import { opsTogether, type SACGreedyOrderMeta, type SACStats } from "@remat/sac-core";
import type { SacColumns } from "./answers.js";

/**
 * Spreads a module's greedy order over the ops of the trace: views first, then the candidates, then the ops that are
 * always stored.
 */
export function sacColumns(stats: SACStats, order: SACGreedyOrderMeta, opCount: number): SacColumns {
  const column = (): Float64Array => new Float64Array(opCount).fill(Number.NaN);
  const columns: SacColumns = {
    msps: column(),
    freed: column(),
    recomputed: column(),
    inPlaceParent: new Int32Array(opCount).fill(-1),
  };
  const sum = (values: Float64Array): number => values.reduce((total, value) => total + value, 0);
  const memory = Math.max(1, sum(stats.memoryBytes));
  const runtime = sum(stats.runtimesMs) || 1;
  let freed = 0;
  let recomputed = 0;
  const add = (head: number, msps: number): void => {
    const ops = opsTogether(order, head);
    for (const op of ops) {
      freed += stats.memoryBytes[op];
      recomputed += stats.runtimesMs[op];
    }
    for (const op of ops) {
      const at = stats.ops[op];
      columns.msps[at] = msps;
      columns.freed[at] = freed / memory;
      columns.recomputed[at] = recomputed / runtime;
    }
  };
  for (const op of order.recomputedOps) add(op, Number.NaN);
  for (let i = 0; i < order.mspsMeta.count; i++) add(order.mspsMeta.opIdx[i], order.mspsMeta.msps[i]);
  for (const op of order.storedOps) add(op, Number.NaN);
  for (const [i, op] of stats.inplaceOps.entries())
    columns.inPlaceParent[stats.ops[op]] = stats.ops[stats.inplaceParents[i]];
  return columns;
}
