import { readMemoryEvents } from "@remat/memory";
import {
  Category,
  elementsOf,
  type ModuleIndex,
  Phase,
  RematError,
  row,
  type TensorIndex,
  type Trace,
} from "@remat/trace";
import { getOrInsert } from "./get-or-insert.js";
import { matchModules } from "./match-modules.js";
import { oncePerTrace } from "./once-per-trace.js";
import { type ShardSize, shardSize } from "./shard-size.js";
import type { ShardedUnit } from "./sharded-units.js";
import {
  elementBytes,
  type GroupPolicy,
  isFloatDtype,
  planError,
  type ShardingPlan,
  shardRank,
  shardRanks,
} from "./sharding-plan.js";

/** A parameter of a group, with the sizes of its shard and of its all-gathered form. */
export interface GroupParameter {
  /** The module of the group that owns the parameter. */
  readonly module: number;
  /** The tensor in the unsharded trace. */
  readonly tensor: number;
  /** The storage in the unsharded trace. */
  readonly storage: number;
  /** The shape of the unsharded parameter. */
  readonly shape: readonly number[];
  /** The number of elements of the unsharded parameter. */
  readonly elements: number;
  /** The dtype of the shard. */
  readonly dtype: string;
  /** The dtype of the all-gathered parameter: the plan's, or the parameter's own. */
  readonly gatheredDtype: string;
  /** The elements of the rank's shard. */
  readonly shard: ShardSize;
  /** Bytes of the rank's shard, including padding. */
  readonly shardBytes: number;
  /** Bytes including the padding that the all-gather needs. */
  readonly gatheredBytes: number;
}

/**
 * Parameters that are all-gathered, resharded and reduced together: the parameters of wrapped modules, without those of
 * other wrapped modules inside them.
 */
export interface ParameterGroup {
  /** Module numbers: one, or several that are sharded as one. */
  readonly modules: readonly number[];
  /** The name of the first module. */
  readonly fqn: string;
  readonly policy: GroupPolicy;
  readonly parameters: readonly GroupParameter[];
}

/**
 * Returns the parameter groups of a plan: the root's group first, then the others by their first module. Units without
 * parameters of their own have no group.
 *
 * @throws RematError `SHARDING_PLAN` if a parameter of a group also belongs to a module outside of it
 */
export function parameterGroups(
  trace: Trace,
  plan: ShardingPlan,
  root: number,
  units: readonly ShardedUnit[],
): ParameterGroup[] {
  const rows = initialParameters(trace);
  const groups = new Map<ShardedUnit, GroupParameter[]>();
  const owner = new Map<number, ShardedUnit | undefined>();
  const take = (unit: ShardedUnit, module: ModuleIndex, tensor: TensorIndex): void => {
    const storage = trace.tensors.storage[tensor];
    if (owner.has(storage)) {
      const known = owner.get(storage);
      if (known === undefined || known === unit || unit.modules.includes(root) || isWithin(trace, known, unit)) return;
      throw planError(
        `${trace.modules[known.modules[0]].fqn} and ${trace.modules[unit.modules[0]].fqn} share a parameter of shape [${trace.tensorShape(tensor).join(", ")}], which must be in one group. Wrap a module around both, or both as one: wrap=A+B.`,
      );
    }
    owner.set(storage, unit);
    getOrInsert(groups, unit, () => []).push(parameter(trace, plan, unit.policy, module, tensor));
  };
  for (const module of matchModules(trace, root, plan.ignored ?? []))
    for (const tensor of declaredParameters(rows, module)) owner.set(trace.tensors.storage[tensor], undefined);
  const countOf = ({ modules }: ShardedUnit): number =>
    modules.reduce((sum, module) => sum + declaredParameters(rows, module).length, 0);
  // This is the order of `fully_shard`: inner modules before outer ones, and the root last.
  const order = units
    .filter(({ modules }) => !modules.includes(root))
    .sort((a, b) => countOf(a) - countOf(b) || a.modules[0] - b.modules[0]);
  for (const unit of [...order, ...units.filter((each) => !order.includes(each))])
    for (const module of unit.modules)
      for (const tensor of declaredParameters(rows, module)) take(unit, module, tensor);
  refuseTied(trace, root, rows, owner);
  const unitOf = new Map(units.flatMap((unit) => unit.modules.map((module) => [module, unit] as const)));
  for (const { storage, tensor, modules } of parameterReads(trace)) {
    if (owner.has(storage)) continue;
    const around = modules.findLast((m) => unitOf.has(m)) ?? root;
    take(unitOf.get(around) as ShardedUnit, around, tensor);
  }
  return units.flatMap((unit) => {
    const parameters = groups.get(unit);
    const { modules, policy } = unit;
    return parameters === undefined ? [] : [{ modules, policy, fqn: trace.modules[modules[0]].fqn, parameters }];
  });
}

/** Returns the parameters that a plan leaves unsharded, which are those of ignored modules. */
export function ignoredParameters(
  trace: Trace,
  { ignored = [] }: ShardingPlan,
  root: number,
): readonly Pick<GroupParameter, "module" | "tensor" | "storage" | "shape">[] {
  if (ignored.length === 0) return [];
  const rows = initialParameters(trace);
  return matchModules(trace, root, ignored).flatMap((module) =>
    Array.from(declaredParameters(rows, module), (tensor) => ({
      module,
      tensor,
      storage: trace.tensors.storage[tensor],
      shape: trace.tensorShape(tensor),
    })),
  );
}

/**
 * Returns whether a group is resharded after its forward pass, or to how many ranks. By default `fully_shard` does not
 * reshard the root, because the backward pass begins with it.
 */
export function reshardsAfterForward(
  { policy, modules }: Pick<ParameterGroup, "policy" | "modules">,
  root: number,
): boolean | number {
  const { reshardAfterForward = !modules.includes(root) } = policy;
  return reshardAfterForward === 1 ? false : reshardAfterForward;
}

/**
 * Rejects a run without parameters.
 *
 * @throws RematError `TRACE_NO_PARAMETERS`
 */
export function requireParameters(groups: readonly ParameterGroup[]): void {
  if (groups.length > 0) return;
  throw new RematError(
    "TRACE_NO_PARAMETERS",
    "the trace contains no parameters to shard. Record it again with the model (model=), so that its parameters are known.",
  );
}

/** Rejects a parameter that a module outside of its group shares, because `fully_shard` of the root also rejects it. */
function refuseTied(
  trace: Trace,
  root: number,
  rows: ReadonlyMap<number, Int32Array>,
  owner: ReadonlyMap<number, ShardedUnit | undefined>,
): void {
  const isRelated = (module: ModuleIndex, unit: ShardedUnit): boolean =>
    unit.modules.some((own) => own === module || isInside(trace, module, own) || isInside(trace, own, module));
  for (const [module, parameters] of rows)
    for (const tensor of parameters) {
      const unit = owner.get(trace.tensors.storage[tensor]);
      if (unit === undefined || unit.modules.includes(root) || isRelated(module, unit)) continue;
      const [outer, inner] = [module, unit.modules[0]].map((each) => nameInRoot(trace, root, each));
      throw planError(
        `${inner} and ${outer} share a parameter of shape [${trace.tensorShape(tensor).join(", ")}], so PyTorch cannot shard ${inner} without ${outer}. Wrap both as one, wrap=${outer}+${inner}, or leave ${inner} to the root.`,
      );
    }
}

function nameInRoot(trace: Trace, root: number, module: ModuleIndex): string {
  return trace.modules[module].fqn.slice(trace.modules[root].fqn.length + 1);
}

function parameter(
  trace: Trace,
  plan: ShardingPlan,
  policy: GroupPolicy,
  module: ModuleIndex,
  tensor: TensorIndex,
): GroupParameter {
  const shape = trace.tensorShape(tensor);
  const recorded = trace.tensorDtype(tensor);
  const isFloat = isFloatDtype(recorded);
  const cast = policy.mixedPrecision?.param;
  if (plan.storedDtype !== undefined && isFloat && cast !== recorded)
    throw planError(
      `stored=${plan.storedDtype} needs a run that computes in ${cast}, and a parameter of ${trace.modules[module].fqn} is ${recorded}. Record the model in ${cast}, or remove stored=.`,
    );
  const dtype = plan.storedDtype !== undefined && isFloat ? plan.storedDtype : recorded;
  const gatheredDtype = cast !== undefined && isFloat ? cast : dtype;
  const ranks = shardRanks(plan);
  const shard = shardSize(shape, ranks, shardRank(plan));
  return {
    module,
    tensor,
    storage: trace.tensors.storage[tensor],
    shape,
    elements: elementsOf(shape),
    dtype,
    gatheredDtype,
    shard,
    shardBytes: shard.paddedElements * elementBytes(dtype),
    gatheredBytes: shard.paddedElements * ranks * elementBytes(gatheredDtype),
  };
}

function declaredParameters(rows: ReadonlyMap<number, Int32Array>, module: ModuleIndex): Int32Array {
  return rows.get(module) ?? new Int32Array(0);
}

/**
 * Returns the number of storages allocated before the first op of an update. A storage allocated later can only replace
 * that of a parameter.
 */
const storagesBeforeUpdate = oncePerTrace((trace): number => {
  let allocated = 0;
  let allocatedByLastOp = 0;
  let beforeUpdate: number | undefined;
  readMemoryEvents(trace, {
    allocate: () => void allocated++,
    op(op) {
      if (trace.ops.phase[op] === Phase.optimizer) beforeUpdate ??= allocatedByLastOp;
      allocatedByLastOp = allocated;
    },
  });
  return beforeUpdate ?? allocated;
});

/**
 * Returns the parameters of each module before the first update. A layer may create its weights late, so the last
 * record with storages from before the update counts.
 */
const initialParameters = oncePerTrace((trace): ReadonlyMap<number, Int32Array> => {
  const initial = storagesBeforeUpdate(trace);
  const rows = new Map<number, Int32Array>();
  const { weights } = trace;
  for (let i = 0; i < weights.count; i++) {
    const parameters = row(weights.parameters, i);
    if (parameters.every((tensor) => trace.tensors.storage[tensor] < initial)) rows.set(weights.module[i], parameters);
  }
  return rows;
});

/** The first read of a parameter, with the modules around the op. */
interface ParameterRead {
  readonly storage: number;
  readonly tensor: TensorIndex;
  readonly modules: readonly number[];
}

/** Returns the first reads of all storages that are parameters before the first update, in order. */
const parameterReads = oncePerTrace((trace): readonly ParameterRead[] => {
  const isParameter = new Uint8Array(trace.storages.count);
  readMemoryEvents(trace, {
    allocate(storage) {
      if (trace.storages.category[storage] === Category.parameter) isParameter[storage] = 1;
    },
    categorize(storage, category) {
      if (category === Category.parameter) isParameter[storage] = 1;
    },
  });
  isParameter.fill(0, storagesBeforeUpdate(trace));
  const reads: ParameterRead[] = [];
  for (let op = 0; op < trace.ops.count; op++)
    for (const tensor of trace.opInputs(op)) {
      const storage = trace.tensors.storage[tensor];
      if (isParameter[storage] === 0) continue;
      isParameter[storage] = 0;
      reads.push({ storage, tensor, modules: Array.from(trace.opCalls(op), (call) => trace.calls.module[call]) });
    }
  return reads;
});

function isWithin(trace: Trace, inner: ShardedUnit, outer: ShardedUnit): boolean {
  return inner.modules.every((module) => outer.modules.some((around) => isInside(trace, module, around)));
}

/**
 * Returns whether `inner` is inside `outer`, judged by its name. A shared module has one name and several places, so
 * its calls are checked as well.
 */
function isInside(trace: Trace, inner: number, outer: number): boolean {
  if (trace.modules[inner].fqn.startsWith(`${trace.modules[outer].fqn}.`)) return true;
  const { module, parent, count } = trace.calls;
  for (let call = 0; call < count; call++)
    if (module[call] === inner)
      for (let around = parent[call]; around >= 0; around = parent[around]) if (module[around] === outer) return true;
  return false;
}
