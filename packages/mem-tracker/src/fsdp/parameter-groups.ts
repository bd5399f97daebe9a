import { readMemoryEvents } from "@remat/memory";
import { Category, Phase, row, type Trace } from "@remat/trace";
import { type ShardSize, shardSize } from "./shard-size.js";
import { elementBytes, isFloatDtype, planError, type ShardingPlan } from "./sharding-plan.js";

export interface GroupParameter {
  /** In the unsharded trace. */
  readonly tensor: number;
  readonly storage: number;
  readonly shape: readonly number[];
  readonly elements: number;
  readonly dtype: string;
  /** Of the gathered parameter: the plan's, or its own. */
  readonly gatheredDtype: string;
  readonly shard: ShardSize;
  readonly shardBytes: number;
  /** With the padding that gathering needs. */
  readonly gatheredBytes: number;
}

/** Parameters that are gathered, resharded and reduced together: those of a wrapped module, without those of wrapped modules in it. */
export interface ParameterGroup {
  readonly module: number;
  readonly fqn: string;
  readonly parameters: readonly GroupParameter[];
}

/**
 * Returns the groups of a plan, the root's first, then by first call; a wrapped module without parameters of its own has none.
 *
 * @throws RematError `SHARDING_PLAN` if two groups that are not nested share a parameter
 */
export function parameterGroups(
  trace: Trace,
  plan: ShardingPlan,
  root: number,
  wrapped: readonly number[],
): ParameterGroup[] {
  const initial = storagesBeforeUpdate(trace);
  const rows = initialParameters(trace, initial);
  const byModule = new Map<number, GroupParameter[]>();
  const owner = new Map<number, number>();
  const take = (module: number, tensor: number): void => {
    const storage = trace.tensors.storage[tensor];
    const known = owner.get(storage);
    if (known !== undefined) {
      if (module === root || known === module || isInside(trace, known, module)) return;
      throw planError(
        `${trace.modules[known].fqn} and ${trace.modules[module].fqn} share a parameter of shape [${trace.tensorShape(tensor).join(", ")}]: expected it in one group. Wrap a module around both instead.`,
      );
    }
    owner.set(storage, module);
    const list = byModule.get(module);
    if (list === undefined) byModule.set(module, [parameter(trace, plan, tensor)]);
    else list.push(parameter(trace, plan, tensor));
  };
  // As `fully_shard` is applied: inner modules before those around them, the root last.
  const order = wrapped
    .filter((module) => module !== root)
    .sort((a, b) => declaredParameters(rows, a).length - declaredParameters(rows, b).length || a - b);
  for (const module of [...order, root]) for (const tensor of declaredParameters(rows, module)) take(module, tensor);
  const wraps = new Set([...wrapped, root]);
  for (const [tensor, module] of undeclaredParameters(trace, owner, initial)) {
    const around = module.findLast((m) => wraps.has(m)) ?? root;
    take(around, tensor);
  }
  return [...byModule]
    .sort(([a], [b]) => (a === root ? -1 : b === root ? 1 : a - b))
    .map(([module, parameters]) => ({ module, fqn: trace.modules[module].fqn, parameters }));
}

function parameter(trace: Trace, plan: ShardingPlan, tensor: number): GroupParameter {
  const shape = trace.tensorShape(tensor);
  const dtype = trace.tensorDtype(tensor);
  const cast = plan.mixedPrecision?.param;
  const gatheredDtype = cast !== undefined && isFloatDtype(dtype) ? cast : dtype;
  const shard = shardSize(shape, plan.worldSize, plan.rank ?? 0);
  return {
    tensor,
    storage: trace.tensors.storage[tensor],
    shape,
    elements: shape.reduce((product, n) => product * n, 1),
    dtype,
    gatheredDtype,
    shard,
    shardBytes: shard.paddedElements * elementBytes(dtype),
    gatheredBytes: shard.paddedElements * plan.worldSize * elementBytes(gatheredDtype),
  };
}

function declaredParameters(rows: ReadonlyMap<number, Int32Array>, module: number): Int32Array {
  return rows.get(module) ?? new Int32Array(0);
}

/** How many storages are allocated before the first op of an update; later ones are at most new storages of parameters. */
function storagesBeforeUpdate(trace: Trace): number {
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
}

/**
 * By module the parameters as they are before the first update: the last that is told of storages from before it, since a layer may make
 * its weights late.
 */
function initialParameters(trace: Trace, initial: number): ReadonlyMap<number, Int32Array> {
  const rows = new Map<number, Int32Array>();
  const { weights } = trace;
  for (let i = 0; i < weights.count; i++) {
    const parameters = row(weights.parameters, i);
    if (parameters.every((tensor) => trace.tensors.storage[tensor] < initial)) rows.set(weights.module[i], parameters);
  }
  return rows;
}

/** Parameters that no module declares, each with the modules around the op that reads it first. */
function* undeclaredParameters(
  trace: Trace,
  declared: ReadonlyMap<number, number>,
  initial: number,
): Generator<readonly [number, readonly number[]], void, undefined> {
  const isParameter = new Uint8Array(trace.storages.count);
  readMemoryEvents(trace, {
    allocate(storage) {
      if (trace.storages.category[storage] === Category.parameter) isParameter[storage] = 1;
    },
    categorize(storage, category) {
      if (category === Category.parameter) isParameter[storage] = 1;
    },
  });
  for (const storage of declared.keys()) isParameter[storage] = 0;
  isParameter.fill(0, initial);
  for (let op = 0; op < trace.ops.count; op++)
    for (const tensor of trace.opInputs(op)) {
      const storage = trace.tensors.storage[tensor];
      if (isParameter[storage] === 0) continue;
      isParameter[storage] = 0;
      yield [tensor, Array.from(trace.opCalls(op), (call) => trace.calls.module[call])];
    }
}

/** Whether `inner` is in `outer`, by its name or, for a shared module, which has one name and several places, by a call of it. */
function isInside(trace: Trace, inner: number, outer: number): boolean {
  if (trace.modules[inner].fqn.startsWith(`${trace.modules[outer].fqn}.`)) return true;
  const { module, parent, count } = trace.calls;
  for (let call = 0; call < count; call++)
    if (module[call] === inner)
      for (let around = parent[call]; around >= 0; around = parent[around]) if (module[around] === outer) return true;
  return false;
}
