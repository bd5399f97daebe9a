import { type OpIndex, type StorageIndex, storageIndex, type TensorIndex, tensorIndex } from "./index-types.js";
import { row, type Trace } from "./trace.js";

/**
 * The outputs and storages that an op's own record can define. The storages are allocated just before the op.
 * @internal
 */
export interface FreshOutputs {
  /** Outputs from this tensor on are defined in the op's record. Earlier tensors are defined before it. */
  readonly firstTensor: TensorIndex;
  /** Storages from this one on are allocated in the op's record. */
  readonly firstStorage: StorageIndex;
}

/**
 * Finds the tensors and storages that the record of `op` can define in place, so that a typical op (allocate, compute)
 * takes one line. The reader goes through the outputs in order, so it must meet new tensors and new storages in the
 * order of their ids. Also, nothing defined before the op may be a view of a storage that the op's record allocates.
 *
 * @param nextTensor the first tensor that has not been written yet
 * @param runStart the first storage allocated just before the op
 * @param runEnd one past the last of these storages
 * @internal
 */
export function findFreshOutputs(
  trace: Trace,
  op: OpIndex,
  nextTensor: TensorIndex,
  runStart: StorageIndex,
  runEnd: StorageIndex,
): FreshOutputs {
  const { inputs, outputs } = trace.ops;
  const { storage, moreStorages } = trace.tensors;
  let known: number = nextTensor;
  for (let i = inputs.start[op]; i < inputs.start[op + 1]; i++) known = Math.max(known, inputs.values[i] + 1);
  const made = row(outputs, op);
  const last = made.reduce((max, tensor) => Math.max(max, tensor), -1);
  const none = { firstTensor: tensorIndex(last + 1), firstStorage: runEnd };

  let { firstTensor } = none;
  for (const tensor of made) if (tensor >= known && tensor < firstTensor) firstTensor = tensor;
  let next = firstTensor;
  for (const tensor of made) {
    if (tensor > next) return none;
    if (tensor === next) next++;
  }

  let firstStorage = runEnd;
  for (let tensor = firstTensor; tensor <= last; tensor++)
    if (storage[tensor] >= runStart && !moreStorages.has(tensor))
      firstStorage = storageIndex(Math.min(firstStorage, storage[tensor]));
  let nextStorage = firstStorage;
  for (let tensor = firstTensor; tensor <= last; tensor++) {
    const s = storage[tensor];
    if (s > nextStorage || (s === nextStorage && moreStorages.has(tensor)))
      return { firstTensor, firstStorage: runEnd };
    if (s === nextStorage) nextStorage++;
    if (moreStorages.get(tensor)?.some((other) => other >= firstStorage)) return { firstTensor, firstStorage: runEnd };
  }
  if (nextStorage !== runEnd) return { firstTensor, firstStorage: runEnd };
  for (let tensor = nextTensor; tensor < firstTensor; tensor++)
    for (const s of trace.tensorStorages(tensor)) if (s >= firstStorage) return { firstTensor, firstStorage: runEnd };
  return { firstTensor, firstStorage };
}
