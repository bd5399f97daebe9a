import { bytesPerElement, Phase, type Trace } from "@remat/trace";
import type { MixedUnits } from "./cast-scope.js";
import { getOrInsert } from "./get-or-insert.js";
import { matchModules } from "./match-modules.js";
import type { ParameterGroup } from "./parameter-groups.js";
import type { ShardedUnit } from "./sharded-units.js";
import { type GroupPolicy, planError, type ShardingPlan } from "./sharding-plan.js";

/**
 * Returns the modules whose outputs are cast to a wider dtype, by the model's code or, for FSDP units, by the plan.
 *
 * @param last the modules that run last in their units
 */
export function castModulesOf(
  trace: Trace,
  plan: ShardingPlan,
  root: number,
  units: readonly ShardedUnit[],
  last: ReadonlySet<number>,
): ReadonlyMap<number, string> {
  const modules = new Map<number, string>();
  for (const { mixedPrecision } of [plan, ...(plan.groups ?? [])])
    for (const { after, dtype } of mixedPrecision?.explicitCasts ?? [])
      for (const module of matchModules(trace, root, [after])) modules.set(module, dtype);
  for (const unit of units) {
    const output = unit.policy.mixedPrecision?.output;
    for (const module of output === undefined ? [] : unit.modules) if (last.has(module)) modules.set(module, output!);
  }
  return modules;
}

/**
 * Returns whether each FSDP unit computes in the lower dtype, or undefined if all do. The root counts only for its own
 * parameters.
 */
export function mixedUnits(
  trace: Trace,
  units: readonly ShardedUnit[],
  groups: readonly ParameterGroup[],
): MixedUnits | undefined {
  const own = ownDtypeOf(groups);
  const isCast = ({ policy: { mixedPrecision } }: { readonly policy: GroupPolicy }): boolean =>
    mixedPrecision?.param !== undefined && mixedPrecision.param !== own;
  if (units.every(isCast) || !units.some(isCast)) return undefined;
  const saysOwn = ({ policy }: ShardedUnit): boolean => policy.mixedPrecision?.param === own;
  return {
    readFromOutside: readFromOutside(trace, new Set(units.flatMap(({ modules }) => modules))),
    castsUp: new Set(own === undefined ? [] : units.filter(saysOwn).flatMap(({ modules }) => modules)),
    isLow: new Map(units.flatMap((unit) => unit.modules.map((module) => [module, isCast(unit)] as const))),
    lowParameters: new Set(groups.filter(isCast).flatMap(({ parameters }) => parameters.map(({ storage }) => storage))),
  };
}

/**
 * Returns the inputs of each call of a sharded module, except its weights: the tensors that ops of the call read but
 * did not create.
 */
function readFromOutside(trace: Trace, sharded: ReadonlySet<number>): ReadonlyMap<number, ReadonlySet<number>> {
  const read = new Map<number, Set<number>>();
  const maker = new Int32Array(trace.storages.count).fill(-1);
  for (let op = 0; op < trace.ops.count; op++) {
    if (trace.ops.phase[op] === Phase.forward)
      for (const call of trace.opCalls(op)) {
        if (!sharded.has(trace.calls.module[call])) continue;
        for (const tensor of trace.opInputs(op)) {
          const storage = trace.tensors.storage[tensor];
          if (maker[storage] >= 0 && !trace.opCalls(maker[storage]).includes(call))
            getOrInsert(read, call, () => new Set<number>()).add(tensor);
        }
      }
    // An op that writes to its input, such as an update of weights, does not create it.
    const inputs = new Set(Array.from(trace.opInputs(op), (tensor) => trace.tensors.storage[tensor]));
    for (const tensor of trace.opOutputs(op)) {
      const storage = trace.tensors.storage[tensor];
      if (maker[storage] < 0 && !inputs.has(storage)) maker[storage] = op;
    }
  }
  return read;
}

/**
 * Returns the dtype that FSDP units compute in, if it is not the parameters' own, or undefined if all compute in the
 * parameters' own dtype.
 *
 * @throws RematError `SHARDING_PLAN` if there are several such dtypes
 */
export function lowDtypeOf(
  trace: Trace,
  units: readonly ShardedUnit[],
  groups: readonly ParameterGroup[],
): string | undefined {
  const own = ownDtypeOf(groups);
  const first = new Map<string, number>();
  for (const { policy, modules } of units) {
    const dtype = policy.mixedPrecision?.param;
    if (dtype !== undefined && dtype !== own && !first.has(dtype)) first.set(dtype, modules[0]);
  }
  const dtypes = [...first.keys()];
  if (dtypes.length > 1) {
    const named = [...first].map(([dtype, module]) => `${trace.modules[module].fqn} in ${dtype}`);
    const [bytes, ...others] = dtypes.map((dtype) => bytesPerElement(dtype));
    const alike = others.every((other) => other === bytes) ? `: both dtypes take ${bytes} bytes per element` : "";
    throw planError(
      `${named.join(" and ")}: only one dtype besides the parameters' own is supported. Use the same param= for both${alike}.`,
    );
  }
  return dtypes[0];
}

/** Returns the parameters' own dtype if all have the same one. */
function ownDtypeOf(groups: readonly ParameterGroup[]): string | undefined {
  const dtypes = new Set(groups.flatMap(({ parameters }) => parameters.map(({ dtype }) => dtype)));
  return dtypes.size === 1 ? [...dtypes][0] : undefined;
}

/** Returns the dtype in which a group reduces gradients, or undefined for the gradients' own dtype. */
export function reduceDtypeOf({ policy }: ParameterGroup): string | undefined {
  const { param, reduce } = policy.mixedPrecision ?? {};
  return reduce === param ? undefined : reduce;
}
