/** The part of a training step in which an op ran. The numbers are the values of the `ops.phase` column. */
export const Phase = { forward: 0, backward: 1, optimizer: 2, recompute: 3, outside: 4 } as const;
/** The name of a phase. */
export type PhaseName = keyof typeof Phase;

/**
 * The purpose of a storage. The numbers are the values of the `storages.category` column and of `categorize` events.
 * The categories from `shardedParameter` on are for fully sharded data parallelism (FSDP): shards and all-gathered
 * parameters and gradients, and buffers of collectives.
 */
export const Category = {
  other: 0,
  parameter: 1,
  buffer: 2,
  input: 3,
  activation: 4,
  gradient: 5,
  temporary: 6,
  optimizerState: 7,
  shardedParameter: 8,
  unshardedParameter: 9,
  shardedGradient: 10,
  unshardedGradient: 11,
  allGather: 12,
  reduceScatter: 13,
} as const;
/** The name of a category. */
export type CategoryName = keyof typeof Category;

/** The name of the whole model, above all modules. Every op counts under it, including ops outside of modules. */
export const globalModule = "Global";

/** The origin of an op's runtime. */
export const RuntimeSource = { none: 0, roofline: 1, measured: 2, imported: 3 } as const;
/** The name of a {@link RuntimeSource}. */
export type RuntimeSourceName = keyof typeof RuntimeSource;

/**
 * Properties of an op that matter for replay and for selective activation checkpointing. They are bits of the
 * `ops.flags` column.
 *
 * - `view`: the output shares its input's storage
 * - `inPlace`: writes into an input's storage
 * - `random`: draws random numbers from a generator
 * - `effectful`: does more than compute its outputs
 * - `sacSkip`: ignored by selective activation checkpointing
 * - `source`: the values come from outside of the engine (drawn in JavaScript, passed by the caller) and cannot be
 *   replayed
 */
export const OpFlag = { view: 1, inPlace: 2, random: 4, effectful: 8, sacSkip: 16, source: 32 } as const;
/** The name of an {@link OpFlag}. */
export type OpFlagName = keyof typeof OpFlag;

/** The role in which autograd saved a tensor. */
export const SavedAs = { input: 0, output: 1, other: 2 } as const;
/** The name of a {@link SavedAs}. */
export type SavedAsName = keyof typeof SavedAs;

/**
 * Start and end of FSDP's work around a module call: all-gathering before it, resharding after it, and reducing
 * gradients.
 */
export const FsdpHook = {
  preForwardBegin: 0,
  preForwardEnd: 1,
  postForwardBegin: 2,
  postForwardEnd: 3,
  preBackwardBegin: 4,
  preBackwardEnd: 5,
  postBackwardBegin: 6,
  postBackwardEnd: 7,
} as const;
/** The name of one of FSDP's hooks. */
export type FsdpHookName = keyof typeof FsdpHook;

/** Kinds of entries in a trace's event list. See {@link Trace.events}. */
export const EventKind = {
  op: 0,
  allocate: 1,
  free: 2,
  resize: 3,
  categorize: 4,
  enterModule: 5,
  exitModule: 6,
  save: 7,
  enterScope: 8,
  exitScope: 9,
  mark: 10,
  fsdpHook: 11,
  unpack: 12,
  unsave: 13,
  savedOnly: 14,
} as const;

/**
 * Marks the start of a forward and backward pass. If a storage is freed between this mark and {@link gradientsEndMark},
 * but not by an op, the engine frees it at the end of the pass.
 */
export const gradientsStartMark = "gradientsStart";
/** Marks the end of a forward and backward pass. See {@link gradientsStartMark}. */
export const gradientsEndMark = "gradientsEnd";

/**
 * Marks the start of an update of the weights by one of TensorFlow.js's own optimizers. Early release frees each
 * temporary of the update after its last use.
 */
export const updateStartMark = "updateStart";
/**
 * Marks the start of an update by `minimize`. Early release also frees the gradients, because `minimize` disposes of
 * them afterwards.
 */
export const minimizeUpdateStartMark = "minimizeUpdateStart";
/** Marks the end of an update of the weights. See {@link updateStartMark}. */
export const updateEndMark = "updateEnd";

/**
 * Marks the moment between two iterations when statistics by module are reset (PyTorch's `MemTracker.reset_mod_stats`).
 */
export const resetModStatsMark = "resetModStats";

/**
 * Marks that the current module call replaces the storages of its own weights or buffers. A second run of the call
 * would start from different values.
 */
export const stateReplacedMark = "stateReplaced";

/**
 * Marks that the current module call runs under a transform of `torch.func`, such as `vmap` or `jvp`. Outside of the
 * transform, the call cannot run again as a whole.
 */
export const transformedMark = "transformed";

/**
 * Marks that the code of the current module call changes state other than tensors that ops write into: a number or a
 * tensor in an attribute, a list, or Python's random generator. A second run of the code would change that state again.
 * Replaying only the ops does not change it.
 */
export const stateChangedMark = "stateChanged";

/**
 * Marks that the next op writes into a weight, a buffer or an attribute of the model. The mark is followed by a space
 * and the name of the state. The marks {@link stateReplacedMark} and {@link stateChangedMark} are also followed by
 * marks that begin with the same word and name the state, such as `stateChanged the attribute encoder.count`.
 */
export const stateWrittenMark = "stateWritten";

const nameOf = <T extends Record<string, number>>(table: T): readonly (keyof T)[] => {
  const names: (keyof T)[] = [];
  for (const [name, value] of Object.entries(table)) names[value] = name;
  return names;
};

/** Names of the phases, by number. */
export const phaseNames: readonly PhaseName[] = nameOf(Phase);
/** Names of the categories, by number. */
export const categoryNames: readonly CategoryName[] = nameOf(Category);
/** Names of the origins of runtimes, by number. */
export const runtimeSourceNames: readonly RuntimeSourceName[] = nameOf(RuntimeSource);
/** Names of FSDP's hooks, by number. */
export const fsdpHookNames: readonly FsdpHookName[] = nameOf(FsdpHook);
/** Names of the roles of saved tensors, by number. */
export const savedAsNames: readonly SavedAsName[] = nameOf(SavedAs);

const elementBytes: Record<string, number> = {
  float64: 8,
  int64: 8,
  uint64: 8,
  complex32: 4,
  complex64: 8,
  complex128: 16,
  float32: 4,
  int32: 4,
  uint32: 4,
  float16: 2,
  bfloat16: 2,
  int16: 2,
  uint16: 2,
  int8: 1,
  uint8: 1,
  float8_e4m3fn: 1,
  float8_e4m3fnuz: 1,
  float8_e5m2: 1,
  float8_e5m2fnuz: 1,
  float8_e8m0fnu: 1,
  bool: 1,
  string: 0,
};

/**
 * Returns the bytes per element of `dtype`, by its name in TensorFlow.js or PyTorch, or undefined for an unknown dtype.
 */
export function bytesPerElement(dtype: string): number | undefined {
  return Object.hasOwn(elementBytes, dtype) ? elementBytes[dtype] : undefined;
}

/** Returns the number of elements of a tensor of `shape`. A scalar has the shape `[]` and one element. */
export function elementsOf(shape: Iterable<number>): number {
  let elements = 1;
  for (const size of shape) elements *= size;
  return elements;
}
