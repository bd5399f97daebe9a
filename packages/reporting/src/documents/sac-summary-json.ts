import { layerCosts } from "@remat/runtime-estimator";
import { opsTogether } from "@remat/sac-core";
import { freedShares, type SacSummary } from "../summarize-sac.js";

/**
 * Returns a summary as plain data, with the names of PyTorch's classes and indices into each module's own list of ops.
 */
export function sacSummaryJson(summary: SacSummary): unknown {
  const { trace } = summary;
  return {
    header: trace.header,
    ...(summary.pricedFor !== undefined && { pricedFor: summary.pricedFor }),
    ...(trace.truncated && { truncated: trace.truncated }),
    opCount: summary.opCount,
    ...summary.times,
    forwardCost: layerCosts(trace).total,
    freedShares,
    modules: summary.modules.map(({ stats, greedyOrder, tradeOff, ...module }) => ({
      ...module,
      stats: {
        funcNames: stats.funcNames,
        runtimesMs: Array.from(stats.runtimesMs),
        memoryBytes: Array.from(stats.memoryBytes),
        viewLikeOps: Array.from(stats.viewLikeOps),
        randOps: Array.from(stats.randOps),
        savedAutogradOps: Array.from(stats.savedAutogradOps),
        inplaceOps: Array.from(stats.inplaceOps, (op, i) => [op, stats.inplaceParents[i]]),
        forceStoreRandom: stats.forceStoreRandom,
      },
      greedyOrder: {
        recomputedOps: Array.from(greedyOrder.recomputedOps),
        storedOps: Array.from(greedyOrder.storedOps),
        steps: Array.from(greedyOrder.mspsMeta.opIdx, (op, i) => ({
          ops: Array.from(opsTogether(greedyOrder, op)),
          memoryBytes: greedyOrder.mspsMeta.memoryBytes[i],
          runtimeMs: greedyOrder.mspsMeta.runtimeMs[i],
          bytesPerMs: greedyOrder.mspsMeta.runtimeMs[i] > 0 ? greedyOrder.mspsMeta.msps[i] : null,
        })),
      },
      tradeOff: {
        nSegments: tradeOff.nSegments,
        slopes: tradeOff.slopes,
        intercepts: tradeOff.intercepts,
        fitBreaks: tradeOff.fitBreaks,
        fitResidual: tradeOff.fitResidual,
        discardedMemory: Array.from(tradeOff.tradeoffCurve.discardedMemory),
        recomputationTime: Array.from(tradeOff.tradeoffCurve.recomputationTime),
        sacMemoryBytes: tradeOff.sacMemoryBytes,
        sacRuntimeMs: tradeOff.sacRuntimeMs,
      },
    })),
  };
}
