import type { Trace } from "@remat/trace";
import type { MixedUnits } from "./cast-storages.js";
import { matchModules } from "./match-modules.js";
import type { ParameterGroup } from "./parameter-groups.js";
import type { ShardedUnit } from "./sharded-units.js";
import { type GroupPolicy, planError, type ShardingPlan } from "./sharding-plan.js";

/** Returns modules whose outputs are cast to a wider dtype: where the model's code does so, and sharded ones of which the plan says so. */
export function castModulesOf(
  trace: Trace,
  plan: ShardingPlan,
  root: number,
  units: readonly ShardedUnit[],
): ReadonlyMap<number, string> {
  const modules = new Map<number, string>();
  for (const { mixedPrecision } of [plan, ...(plan.groups ?? [])])
    for (const { after, dtype } of mixedPrecision?.explicitCasts ?? [])
      for (const module of matchModules(trace, root, [after])) modules.set(module, dtype);
  for (const unit of units) {
    const output = unit.policy.mixedPrecision?.output;
    if (output !== undefined) for (const module of unit.modules) modules.set(module, output);
  }
  return modules;
}

/** Tells which of the sharded modules compute in another dtype, where not all do: of the root only what it has parameters for. */
export function mixedUnits(units: readonly ShardedUnit[], groups: readonly ParameterGroup[]): MixedUnits | undefined {
  const isCast = ({ policy }: { readonly policy: GroupPolicy }): boolean => policy.mixedPrecision?.param !== undefined;
  if (units.every(isCast) || !units.some(isCast)) return undefined;
  return {
    isLow: new Map(units.flatMap((unit) => unit.modules.map((module) => [module, isCast(unit)] as const))),
    lowParameters: new Set(groups.filter(isCast).flatMap(({ parameters }) => parameters.map(({ storage }) => storage))),
  };
}

/** Returns the dtype that sharded modules compute in, other than their parameters' own. */
export function lowDtypeOf(units: readonly ShardedUnit[]): string | undefined {
  const dtypes = new Set(units.flatMap(({ policy }) => policy.mixedPrecision?.param ?? []));
  if (dtypes.size > 1)
    throw planError(`groups compute in ${[...dtypes].join(" and ")}: expected one dtype besides the parameters' own.`);
  return [...dtypes][0];
}

/** Returns in which dtype a group reduces; undefined for that of its gradients. */
export function reduceDtypeOf({ policy }: ParameterGroup): string | undefined {
  const { param, reduce } = policy.mixedPrecision ?? {};
  return reduce === param ? undefined : reduce;
}
