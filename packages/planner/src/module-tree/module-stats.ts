import type { SACTradeOffStats } from "@remat/sac-core";
import { type MemorySnapshot, RematError } from "@remat/trace";

/** What {@link planModules} needs to know of one module. Bytes as allocated, on one device. */
export interface ModuleStats {
  /** Fully qualified name; `a.b` is inside `a`. */
  readonly fqn: string;
  readonly parameterBytes: number;
  /** Gradients of parameters held when its backward pass begins. */
  readonly gradientTotalBytes: number;
  /** Activations that its forward pass leaves behind, without its output. */
  readonly activationBytes: number;
  /** All activations held when its forward pass ends. */
  readonly activationTotalBytes: number;
  /** Gradients of activations at the peak of its backward pass, above those at its begin. */
  readonly activationGradientBytes: number;
  /** What freeing activations costs, by share; left out for a module without children, which is never checkpointed. */
  readonly tradeOff?: Pick<SACTradeOffStats, "sacMemoryBytes" | "sacRuntimeMs" | "slopes" | "intercepts">;
}

/** What `MemTracker` of `@remat/memory/tracker` tells of a module. */
export interface TrackedModule {
  readonly fqn: string;
  readonly parameterBytes: number;
  readonly outputBytes: number;
  /** By state, by call, by device. */
  readonly snapshots: ReadonlyMap<string, readonly (readonly MemorySnapshot[])[]>;
}

/**
 * Returns the statistics that {@link planModules} plans with, from what `MemTracker` and `SACEstimator` (or `tradeOff` of `@remat/sac-core`) know of each
 * module: in the order in which forward passes end, modules that were not tracked left out. Of several calls the last one counts.
 *
 * Source: `aggregate_stats` of `torch/distributed/_tools/ilp_utils.py`.
 *
 * @param sources.memory from a run with a backward pass
 * @param sources.forwardPostOrder names in the order in which forward passes end: `modFwPostOrder` of `@remat/runtime-estimator`
 * @throws RematError `MODULE_STATS` naming the module and state without a snapshot of the device
 * @example
 * const modules = aggregateModuleStats({ memory: tracker.modules(), tradeOffs, forwardPostOrder, device: "cuda:0" });
 */
export function aggregateModuleStats(sources: {
  readonly memory: Iterable<TrackedModule>;
  readonly tradeOffs: ReadonlyMap<string, NonNullable<ModuleStats["tradeOff"]>>;
  readonly forwardPostOrder: readonly string[];
  readonly device: string;
}): ModuleStats[] {
  const tracked = new Map(Array.from(sources.memory, (module) => [module.fqn, module]));
  const stats: ModuleStats[] = [];
  for (const fqn of new Set(sources.forwardPostOrder)) {
    const module = tracked.get(fqn);
    if (module === undefined) continue;
    const bytes = (state: string, category: string): number => lastBytes(module, state, sources.device, category);
    const tradeOff = sources.tradeOffs.get(fqn);
    stats.push({
      fqn,
      parameterBytes: module.parameterBytes,
      gradientTotalBytes: bytes("preBackward", "gradient"),
      activationBytes: Math.max(
        0,
        bytes("postForward", "activation") - bytes("preForward", "activation") - module.outputBytes,
      ),
      activationTotalBytes: bytes("postForward", "activation"),
      activationGradientBytes: bytes("peakBackward", "temporary") - bytes("preBackward", "temporary"),
      ...(tradeOff !== undefined && { tradeOff }),
    });
  }
  return stats;
}

function lastBytes(module: TrackedModule, state: string, device: string, category: string): number {
  const snapshot = module.snapshots
    .get(state)
    ?.at(-1)
    ?.find((one) => one.device === device);
  if (snapshot === undefined)
    throw new RematError(
      "MODULE_STATS",
      `module ${module.fqn}: found no snapshot of ${device} in state ${state}, expected one of its last call. Track a whole step, with its backward pass, and name a device that it used.`,
    );
  return snapshot.bytesByCategory[category] ?? 0;
}

/** Whether the module named `fqn` is inside the one named `ancestor`, and not that itself. @internal */
export function isInside(fqn: string, ancestor: string): boolean {
  return fqn.startsWith(`${ancestor}.`);
}
