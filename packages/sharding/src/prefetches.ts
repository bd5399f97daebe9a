import type { ModuleIndex, Trace } from "@remat/trace";
import type { GroupState } from "./group-state.js";
import { matchModules } from "./match-modules.js";
import { reshardsAfterForward } from "./parameter-groups.js";
import type { ShardedUnit } from "./sharded-units.js";
import { type Prefetch, planError, type ShardingPlan } from "./sharding-plan.js";

/** The other groups that each group all-gathers early, when its own passes begin. */
export interface Prefetches {
  readonly forward: ReadonlyMap<GroupState, readonly GroupState[]>;
  /** A group that is not in the map prefetches the group whose forward pass came before its own. */
  readonly backward: ReadonlyMap<GroupState, readonly GroupState[]>;
  /** Groups that are resharded after the forward pass and stay sharded in the backward pass. */
  readonly keptSharded: ReadonlySet<GroupState>;
}

/** Returns the prefetches of a plan. */
export function prefetchesOf(
  trace: Trace,
  plan: ShardingPlan,
  root: number,
  units: readonly ShardedUnit[],
  states: readonly GroupState[],
): Prefetches {
  const stateOf = (unit: number): GroupState | undefined =>
    states.find(({ group }) => group.modules === units[unit].modules);
  const byState = (found: ReadonlyMap<number, readonly number[]>): Map<GroupState, GroupState[]> => {
    const map = new Map<GroupState, GroupState[]>();
    for (const [unit, targets] of found) {
      const state = stateOf(unit);
      if (state !== undefined)
        map.set(
          state,
          targets.flatMap((target) => stateOf(target) ?? []),
        );
    }
    return map;
  };
  const kept = new Set(matchModules(trace, root, plan.keptShardedInBackward ?? []));
  for (const module of kept) requireUnit(trace, units, module, "keep its parameters sharded in the backward pass");
  return {
    forward: byState(prefetchedUnits(trace, plan, root, units, "forward")),
    backward: byState(prefetchedUnits(trace, plan, root, units, "backward")),
    keptSharded: new Set(
      states.filter(
        ({ group }) => group.modules.some((module) => kept.has(module)) && reshardsAfterForward(group, root) !== false,
      ),
    ),
  };
}

/**
 * Returns the units that each unit prefetches when a pass of it begins, in order.
 *
 * @internal
 */
export function prefetchedUnits(
  trace: Trace,
  plan: ShardingPlan,
  root: number,
  units: readonly ShardedUnit[],
  pass: "forward" | "backward",
): ReadonlyMap<number, readonly number[]> {
  const order = firstRuns(trace, units).filter((unit) => !units[unit].modules.includes(root));
  return pass === "forward"
    ? prefetched(trace, root, units, plan.forwardPrefetch, order)
    : prefetched(trace, root, units, plan.backwardPrefetch, order.toReversed());
}

/**
 * Returns the prefetched units by unit, in order.
 *
 * @param order the units in the order in which they first run
 */
function prefetched(
  trace: Trace,
  root: number,
  units: readonly ShardedUnit[],
  prefetch: Prefetch | undefined,
  order: readonly number[],
): ReadonlyMap<number, readonly number[]> {
  const found = new Map<number, readonly number[]>();
  if (prefetch === undefined) return found;
  if (typeof prefetch === "number") {
    order.forEach((unit, at) => {
      const next = order.slice(at + 1, at + 1 + prefetch);
      if (next.length > 0) found.set(unit, next);
    });
    return found;
  }
  const unitOf = (module: ModuleIndex): number => requireUnit(trace, units, module, "be prefetched or prefetch others");
  for (const [from, to] of Object.entries(prefetch))
    for (const module of matchModules(trace, root, [from])) {
      const unit = unitOf(module);
      const targets = to.flatMap((name) => matchModules(trace, root, [name]).map(unitOf));
      if (targets.includes(unit)) throw planError(`${trace.modules[module].fqn} prefetches itself. Name other groups.`);
      found.set(unit, targets);
    }
  return found;
}

/**
 * Returns the unit of a module.
 *
 * @throws RematError `SHARDING_PLAN` for a module that is not sharded by itself
 */
function requireUnit(trace: Trace, units: readonly ShardedUnit[], module: ModuleIndex, what: string): number {
  const unit = units.findIndex(({ modules }) => modules.includes(module));
  if (unit < 0)
    throw planError(
      `${trace.modules[module].fqn} is not a group, so it cannot ${what}. Use one of ${units.map(({ modules }) => trace.modules[modules[0]].fqn).join(", ")}.`,
    );
  return unit;
}

/** Returns the units in the order in which they first run. */
function firstRuns({ calls }: Trace, units: readonly ShardedUnit[]): number[] {
  const unitOf = new Map(units.flatMap(({ modules }, unit) => modules.map((module) => [module, unit] as const)));
  const order = new Set<number>();
  for (let call = 0; call < calls.count; call++) {
    const unit = unitOf.get(calls.module[call]);
    if (unit !== undefined) order.add(unit);
  }
  return [...order];
}
