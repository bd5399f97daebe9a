import { Category, Phase, type StorageIndex, type TensorIndex, type Trace } from "@remat/trace";
import { getOrInsert } from "./get-or-insert.js";
import type { GroupParameter } from "./parameter-groups.js";
import type { StorageRoles } from "./storage-roles.js";

/**
 * Returns the parameter that each storage of the optimizer belongs to.
 *
 * If states exist when the run begins, the trace lists them parameter by parameter. A state that an op of an update
 * creates belongs to the same parameter as the op's input with the same shape and position. States without a parameter
 * are left out.
 *
 * @param parameters in the order of the model
 * @returns for each storage of the optimizer, the storage of its parameter
 */
export function optimizersParameters(
  trace: Trace,
  parameters: readonly Pick<GroupParameter, "storage" | "shape">[],
  roles: Pick<StorageRoles, "gradients" | "firstTensor" | "isOptimizers">,
): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  const known = new Set(parameters.map(({ storage }) => storage));
  const shapeOf = (tensor: TensorIndex): string => trace.tensorShape(tensor).join();
  const parameterOf = (storage: StorageIndex): number | undefined =>
    known.has(storage) ? storage : (roles.gradients.get(storage)?.parameter.storage ?? found.get(storage));
  const made = new Uint8Array(trace.storages.count);
  for (let op = 0; op < trace.ops.count; op++)
    for (const tensor of trace.opOutputs(op)) made[trace.tensors.storage[tensor]] = 1;
  for (const [shape, states] of statesThere(trace, roles, made)) {
    // Optimizers keep a step count for each parameter.
    const owners = shape === "" ? parameters : parameters.filter((parameter) => parameter.shape.join() === shape);
    const each = states.length / owners.length;
    if (!Number.isInteger(each)) continue;
    states.forEach((storage, i) => void found.set(storage, owners[Math.floor(i / each)].storage));
  }
  for (let op = 0; op < trace.ops.count; op++) {
    if (trace.ops.phase[op] !== Phase.optimizer) continue;
    const read = new Map<string, number[]>();
    const seen = new Map<string, Set<number>>();
    for (const tensor of trace.opInputs(op)) {
      const parameter = parameterOf(trace.tensors.storage[tensor]);
      const shape = shapeOf(tensor);
      if (parameter === undefined || getOrInsert(seen, shape, () => new Set()).has(tensor)) continue;
      seen.get(shape)!.add(tensor);
      getOrInsert(read, shape, () => []).push(parameter);
    }
    const places = new Map<string, number>();
    for (const tensor of trace.opOutputs(op)) {
      const storage = trace.tensors.storage[tensor];
      const shape = shapeOf(tensor);
      const place = places.get(shape) ?? 0;
      places.set(shape, place + 1);
      const parameter = read.get(shape)?.[place];
      if (parameter !== undefined && parameterOf(storage) === undefined) found.set(storage, parameter);
    }
  }
  return found;
}

/** Returns the states that no op of the run creates, by shape, in the order of the trace. */
function statesThere(
  trace: Trace,
  roles: Pick<StorageRoles, "firstTensor" | "isOptimizers">,
  made: Uint8Array,
): ReadonlyMap<string, readonly number[]> {
  const states = new Map<string, number[]>();
  for (let storage = 0; storage < trace.storages.count; storage++) {
    const tensor = roles.firstTensor[storage];
    if (tensor < 0 || made[storage] === 1 || roles.isOptimizers[storage] === 0) continue;
    if (trace.storages.category[storage] !== Category.optimizerState) continue;
    getOrInsert(states, trace.tensorShape(tensor).join(), () => []).push(storage);
  }
  return states;
}
