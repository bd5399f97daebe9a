import { trackMemory } from "@remat/memory/tracker";
import { moduleOrders } from "@remat/runtime-estimator";
import { greedyOrder, type SACStats, sacStats, tradeOff } from "@remat/sac-core";
import type { Trace } from "@remat/trace";
import { aggregateModuleStats, type ModuleStats } from "../module-tree/module-stats.js";

/** Statistics of a step's modules, from `MemTracker` and the SAC statistics. */
export interface ModuleStatistics {
  readonly modules: readonly ModuleStats[];
  /** Statistics of every module with children, by name. */
  readonly sac: ReadonlyMap<string, SACStats>;
  /** Modules that were left out because the trace does not contain their backward pass. */
  readonly leftOut: readonly string[];
}

/** Combines the results of `MemTracker` and the SAC statistics for each module, like PyTorch's `aggregate_stats`. */
export function moduleStatistics(trace: Trace): ModuleStatistics {
  const sac = sacStats(trace);
  const device = trace.header.device;
  const needed = ["preForward", "postForward", "preBackward", "peakBackward"];
  const tracked = trackMemory(trace).modules();
  const isWhole = (module: (typeof tracked)[number]) =>
    needed.every((state) =>
      (module.snapshots as ReadonlyMap<string, readonly (readonly { device: string }[])[]>)
        .get(state)
        ?.at(-1)
        ?.some((snapshot) => snapshot.device === device),
    );
  return {
    sac,
    leftOut: tracked.filter((module) => !isWhole(module)).map(({ fqn }) => fqn),
    modules: aggregateModuleStats({
      memory: tracked.filter(isWhole),
      tradeOffs: new Map(
        Array.from(sac, ([fqn, stats]) => [fqn, tradeOff(stats, greedyOrder(stats), { nSegments: 2 })] as const),
      ),
      forwardPostOrder: moduleOrders(trace).modFwPostOrder,
      device,
    }),
  };
}
