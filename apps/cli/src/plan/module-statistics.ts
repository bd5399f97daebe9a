import { trackMemory } from "@remat/mem-tracker";
import { aggregateModuleStats, type ModuleStats } from "@remat/planner";
import { moduleOrders } from "@remat/runtime-estimator";
import { greedyOrder, type SACStats, sacStats, tradeOff } from "@remat/sac-core";
import type { Trace } from "@remat/trace";

/** What planning by module needs to know of a step. */
export interface ModuleStatistics {
  readonly modules: readonly ModuleStats[];
  /** Of every module with children, by name. */
  readonly sac: ReadonlyMap<string, SACStats>;
  /** Modules that were left out, since no backward pass of theirs was seen. */
  readonly leftOut: readonly string[];
}

/** Puts together what `MemTracker` and the SAC statistics know of each module, as PyTorch's `aggregate_stats` does. */
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

/** Returns the modules with statistics that are highest in the tree, the roots themselves left out where they have such modules in them. */
export function outermostModules(names: Iterable<string>): string[] {
  const all = [...names];
  const isInside = (fqn: string, other: string) => fqn.startsWith(`${other}.`);
  const roots = all.filter((fqn) => !all.some((other) => isInside(fqn, other)));
  const inner = all.filter((fqn) => !roots.includes(fqn));
  const highest = inner.filter((fqn) => !inner.some((other) => isInside(fqn, other)));
  return highest.length > 0 ? highest : roots;
}

/** Returns the FQNs that patterns name (`*` stands for part of one name), with or without the root in front. */
export function matchingModules(patterns: readonly string[], names: readonly string[]): string[] {
  return patterns.flatMap((pattern) => {
    const regex = new RegExp(
      `^(?:[^.]+\\.)?${pattern
        .replace(/[.+?^${}()|[\]\\]/g, "\\$&")
        .replaceAll("**", "\0")
        .replaceAll("*", "[^.]*")
        .replaceAll("\0", ".*")}$`,
    );
    return names.filter((fqn) => fqn === pattern || regex.test(fqn));
  });
}
