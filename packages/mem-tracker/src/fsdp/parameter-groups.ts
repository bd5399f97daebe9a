import { Category, EventKind, row, type Trace } from "@remat/trace";
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
 * The groups of a plan, the root's first, then by first call; a wrapped module without parameters of its own has none.
 *
 * @throws RematError `SHARDING_PLAN` if two groups that are not nested share a parameter
 */
export function parameterGroups(
  trace: Trace,
  plan: ShardingPlan,
  root: number,
  wrapped: readonly number[],
): ParameterGroup[] {
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
    .sort((a, b) => declaredParameters(trace, a).length - declaredParameters(trace, b).length || a - b);
  for (const module of [...order, root]) for (const tensor of declaredParameters(trace, module)) take(module, tensor);
  const wraps = new Set([...wrapped, root]);
  for (const [tensor, module] of undeclaredParameters(trace, owner)) {
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

function declaredParameters(trace: Trace, module: number): Int32Array {
  const declared = trace.weights.module.lastIndexOf(module);
  return declared < 0 ? new Int32Array(0) : row(trace.weights.parameters, declared);
}

/** Parameters that no module declares, each with the modules around the op that reads it first. */
function* undeclaredParameters(
  trace: Trace,
  declared: ReadonlyMap<number, number>,
): Generator<readonly [number, readonly number[]], void, undefined> {
  const isParameter = new Uint8Array(trace.storages.count);
  const { kind, subject, value, count } = trace.events;
  for (let i = 0; i < count; i++) {
    const s = subject[i];
    if (kind[i] === EventKind.allocate && trace.storages.category[s] === Category.parameter) isParameter[s] = 1;
    else if (kind[i] === EventKind.categorize && value[i] === Category.parameter) isParameter[s] = 1;
  }
  for (const storage of declared.keys()) isParameter[storage] = 0;
  for (let op = 0; op < trace.ops.count; op++)
    for (const tensor of trace.opInputs(op)) {
      const storage = trace.tensors.storage[tensor];
      if (isParameter[storage] === 0) continue;
      isParameter[storage] = 0;
      yield [tensor, Array.from(trace.opCalls(op), (call) => trace.calls.module[call])];
    }
}

/** Whether all that `inner` owns is also in `outer`. Names do not tell: a shared module has one name and several places. */
function isInside(trace: Trace, inner: number, outer: number): boolean {
  const within = new Set(declaredParameters(trace, outer));
  return declaredParameters(trace, inner).every((tensor) => within.has(tensor));
}
