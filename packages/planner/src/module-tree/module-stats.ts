import type { SACTradeOffStats } from "@remat/sac-core";
import { type MemorySnapshot, RematError } from "@remat/trace";

/**
 * The statistics of one module that {@link planModules} needs. Sizes are those on one device, rounded up to the
 * allocation unit.
 */
export interface ModuleStats {
  /** Fully qualified name. `a.b` is inside `a`. */
  readonly fqn: string;
  readonly parameterBytes: number;
  /** Gradients of parameters that are live when its backward pass begins. */
  readonly gradientTotalBytes: number;
  /** Activations that its forward pass keeps alive, without its output. */
  readonly activationBytes: number;
  /** All activations that are live when its forward pass ends. */
  readonly activationTotalBytes: number;
  /** Gradients of activations at the peak of its backward pass, beyond those that were live when it began. */
  readonly activationGradientBytes: number;
  /**
   * The cost of freeing a share of the activations. Left out for a module without children, which is never
   * checkpointed.
   */
  readonly tradeOff?: Pick<SACTradeOffStats, "sacMemoryBytes" | "sacRuntimeMs" | "slopes" | "intercepts">;
}

/** The statistics of a module from `MemTracker` of `@remat/memory/tracker`. */
export interface TrackedModule {
  readonly fqn: string;
  readonly parameterBytes: number;
  readonly outputBytes: number;
  /** Sizes by state, by call, by device. */
  readonly snapshots: ReadonlyMap<string, readonly (readonly MemorySnapshot[])[]>;
}

/**
 * Returns the statistics for {@link planModules}, from those of `MemTracker` and of `SACEstimator` (or `tradeOff` of
 * `@remat/sac-core`). Modules are in the order in which forward passes end. Modules that were not tracked are left out.
 * If a module has several calls, the last one counts.
 *
 * Source: `aggregate_stats` of `torch/distributed/_tools/ilp_utils.py`.
 *
 * @param sources.memory from a run with a backward pass
 * @param sources.forwardPostOrder names in the order in which forward passes end: `modFwPostOrder` of
 * `@remat/runtime-estimator`
 * @throws RematError `MODULE_STATS` if a state of a module has no snapshot of the device, with both names
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
      `module ${module.fqn}: no snapshot of ${device} in state ${state}. Track a whole step with its backward pass, and name a device that it uses.`,
    );
  return snapshot.bytesByCategory[category] ?? 0;
}

/**
 * Returns whether the module named `fqn` is inside the module named `ancestor`. A module is not inside itself.
 * @internal
 */
export function isInside(fqn: string, ancestor: string): boolean {
  return fqn.startsWith(`${ancestor}.`);
}
