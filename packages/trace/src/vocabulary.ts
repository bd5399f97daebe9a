/** When an op ran. The numbers are what the `ops.phase` column holds. */
export const Phase = { forward: 0, backward: 1, optimizer: 2, recompute: 3, outside: 4 } as const;
/** The name of a phase. */
export type PhaseName = keyof typeof Phase;

/**
 * What a storage is for (T4). The numbers are what the `storages.category` column and `categorize` events hold. From `shardedParameter`
 * on they are of fully sharded data parallelism (FSDP): there a parameter or gradient is a shard or gathered, and collectives have buffers.
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

/** The name under which every op counts, in a module or not: above all modules of a model. */
export const globalModule = "Global";

/** Where an op's milliseconds come from (T7). */
export const RuntimeSource = { none: 0, roofline: 1, measured: 2, imported: 3 } as const;
/** The name of an origin of a runtime. */
export type RuntimeSourceName = keyof typeof RuntimeSource;

/**
 * Properties of an op that matter to replay and to selective activation checkpointing (T8); bits of the `ops.flags` column.
 * `view`: the output shares its input's storage. `inPlace`: writes into an input's storage. `random`: draws from a generator.
 * `effectful`: does more than compute its outputs. `sacSkip`: selective activation checkpointing leaves it out.
 * `source`: the values come from outside the engine (drawn in JavaScript, given by the caller) and cannot be replayed.
 */
export const OpFlag = { view: 1, inPlace: 2, random: 4, effectful: 8, sacSkip: 16, source: 32 } as const;
/** The name of a flag. */
export type OpFlagName = keyof typeof OpFlag;

/** How autograd came to hold a tensor (T6). */
export const SavedAs = { input: 0, output: 1, other: 2 } as const;
/** The name of a way of saving. */
export type SavedAsName = keyof typeof SavedAs;

/** Where FSDP's work around a module call starts and ends: gathering before it, resharding after, reducing gradients. */
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

/** Kinds of entries in a trace's event list; see {@link Trace.events}. */
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

/** The marks around a forward and backward pass: what is freed between them without an op is what the engine frees at the end of the pass. */
export const gradientsStartMark = "gradientsStart";
export const gradientsEndMark = "gradientsEnd";

/**
 * The marks around an update of the weights by one of tfjs's own optimizers, of which early release frees each temporary after its last use; and the
 * gradients, too, where the update is that of `minimize`, which disposes of them next.
 */
export const updateStartMark = "updateStart";
export const minimizeUpdateStartMark = "minimizeUpdateStart";
export const updateEndMark = "updateEnd";

/** The mark between two iterations at which statistics by module start anew (PyTorch's `MemTracker.reset_mod_stats`). */
export const resetModStatsMark = "resetModStats";

/** The mark inside the call of a module that gives its own weights or buffers other storages as it runs: a second run of it would start from others. */
export const stateReplacedMark = "stateReplaced";

/** The mark inside a module call that runs under a transform of `torch.func`, as `vmap` and `jvp` are: it cannot run again as a whole outside of that. */
export const transformedMark = "transformed";

/**
 * The mark inside the call of a module whose code changes other state than tensors that ops write into: a number or a tensor in an attribute, a list, Python's random generator. A
 * second run of the code would change it a second time. Ops that are replayed without the code change nothing.
 */
export const stateChangedMark = "stateChanged";

/**
 * The mark before an op that writes into a weight, a buffer or an attribute of the model, followed by a space and by the name of that. The two marks above are also followed by marks
 * that begin in the same way and name the state, as `stateChanged the attribute encoder.count`.
 */
export const stateWrittenMark = "stateWritten";

const nameOf = <T extends Record<string, number>>(table: T): readonly (keyof T)[] => {
  const names: (keyof T)[] = [];
  for (const [name, value] of Object.entries(table)) names[value] = name;
  return names;
};

/** Names of phases, by number. */
export const phaseNames: readonly PhaseName[] = nameOf(Phase);
/** Names of categories, by number. */
export const categoryNames: readonly CategoryName[] = nameOf(Category);
/** Names of origins of runtimes, by number. */
export const runtimeSourceNames: readonly RuntimeSourceName[] = nameOf(RuntimeSource);
/** Names of FSDP's hooks, by number. */
export const fsdpHookNames: readonly FsdpHookName[] = nameOf(FsdpHook);
/** Names of ways of saving, by number. */
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

/** Returns bytes of one element of `dtype`, by tfjs's or PyTorch's name for it; `undefined` for a dtype that is not known. */
export function bytesPerElement(dtype: string): number | undefined {
  return Object.hasOwn(elementBytes, dtype) ? elementBytes[dtype] : undefined;
}

/** Returns how many elements a tensor of `shape` has; a scalar's shape is `[]`, of which there is one. */
export function elementsOf(shape: Iterable<number>): number {
  let elements = 1;
  for (const size of shape) elements *= size;
  return elements;
}
