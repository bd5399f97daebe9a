import type { CallIndex, IndexColumn, ModuleIndex, OpIndex, StorageIndex, TensorIndex } from "./index-types.js";
import type { MemoryFailure } from "./memory-failure.js";
import type { StepSettings } from "./step-settings.js";
import { EventKind } from "./vocabulary.js";

/**
 * Gradients that need fewer kernels than TensorFlow.js's own. `equal` gradients are bitwise identical. `reordered`
 * gradients may also sum in another order, if no `equal` gradient needs fewer kernels.
 */
export type FasterGradients = "equal" | "reordered";

/**
 * Overhead of `torch.utils.checkpoint` in milliseconds, in addition to the recomputed ops. It is the time of hooks,
 * frames and dispatch modes, which run in Python on any device.
 */
export interface CheckpointingTimes {
  /** Time to enter a checkpointed call and to start running it again. */
  readonly frame: number;
  /** Additional time for a call with selective checkpointing. */
  readonly selective: number;
  /** Time for each tensor that is not saved, and for each tensor that is restored by recomputation. */
  readonly save: number;
  /** Time for each op under the dispatch modes of selective checkpointing, in either pass. */
  readonly dispatch: number;
  /** Time to identify and store each op of a call, if only parts of the call are recomputed. */
  readonly count: number;
  /** Time for each op of a part that runs again. */
  readonly rerun: number;
}

/** General facts about a trace, in the first record of a file. */
export interface TraceHeader {
  readonly framework: "tfjs" | "pytorch" | (string & {});
  readonly frameworkVersion?: string;
  /** TensorFlow.js: the backend that ran, or that fake mode simulated. */
  readonly backend?: string;
  /** The device that memory and times refer to, such as `cpu` or `cuda:0`. */
  readonly device: string;
  /** Memory of the device that was available to the recorded run, if known. */
  readonly deviceMemoryBytes?: number;
  /** `fake` if only shapes were computed, `real` if kernels ran. */
  readonly mode: "fake" | "real";
  /** Allocations on `device` are rounded up to a multiple of this many bytes. */
  readonly allocationUnitBytes: number;
  /** Name of the model or function that was traced. */
  readonly model?: string;
  /** The settings of the step, if remat ran it. */
  readonly step?: StepSettings;
  /** TensorFlow.js: the gradients that were used, if not those of TensorFlow.js itself. */
  readonly fasterGradients?: FasterGradients;
  /**
   * Time that the host needed to launch all ops of a step, in milliseconds, if they were timed on a device that runs
   * asynchronously.
   */
  readonly hostMs?: number;
  /** PyTorch: overhead of checkpointing on the machine that timed the ops, if measured. */
  readonly checkpointingMs?: CheckpointingTimes;
  /** PyTorch: number of modules in the model, including those that the step did not call. */
  readonly moduleCount?: number;
  /** Versions of the packages involved, by name. */
  readonly libraries?: Readonly<Record<string, string>>;
  /** How the run ran out of memory, if it ended in the middle of this step. */
  readonly failure?: MemoryFailure;
  /**
   * The settings of PyTorch's caching allocator (`PYTORCH_CUDA_ALLOC_CONF`) and its highest reserved memory, if they
   * were recorded.
   */
  readonly allocator?: { readonly settings: string; readonly reservedPeakBytes: number };
  /** Sentences that a reader should see, such as which loss was assumed. */
  readonly notes?: readonly string[];
}

/** A module of the model. It is listed once, even if it is called several times. */
export interface Module {
  /** Fully qualified name, components joined by dots: `model.block_1.conv`. */
  readonly fqn: string;
  /** Class of the module: `Conv2D`, `Linear`. */
  readonly kind: string;
  readonly leaf: boolean;
}

/** A scope around ops: a composite with its own gradient (`customGrad`), or one run of a checkpointed region. */
export interface Scope {
  readonly name: string;
  /** The enclosing scope, or -1. */
  readonly parent: number;
  /**
   * How a checkpointed region is recomputed. Its scope is entered in the forward pass, and again each time the region
   * is recomputed.
   */
  readonly checkpoint?: CheckpointForm;
  /** The user's source line with the call, as `file:line`. */
  readonly line?: string;
  /**
   * Tensors given to the scope and returned by it, if known. For a recomputed region, the tensors of the forward pass.
   */
  readonly given?: readonly TensorIndex[];
  readonly returned?: readonly TensorIndex[];
}

/**
 * How a checkpointed region is recomputed. The first two are the forms of `torch.utils.checkpoint`:
 *
 * - `nonReentrant`: recomputes up to the last tensor that the backward pass needs
 * - `reentrant`: recomputes the whole region, in a backward pass of its own
 * - `replayed`: replays only the kernels whose results the backward pass needs, and may put the results under
 *   existing tensors (`checkpoint` of `@remat/checkpoint`)
 */
export type CheckpointForm = "nonReentrant" | "reentrant" | "replayed";

/** Rows in compressed form: row i is `values[start[i]] … values[start[i + 1] - 1]`. */
export interface Rows<T extends Int32Array | Float64Array = Int32Array> {
  readonly start: Int32Array;
  readonly values: T;
}

/** Ops in execution order. A row of `inputs` and `outputs` is a list of tensors. */
export interface OpColumns {
  readonly count: number;
  /** Index into `trace.strings`: the name of a TensorFlow.js kernel or of an ATen op such as `aten.addmm.default`. */
  readonly name: Int32Array;
  /** One of {@link Phase}. */
  readonly phase: Uint8Array;
  /** Bits of {@link OpFlag}. */
  readonly flags: Uint16Array;
  /** Index into `trace.stacks`: the active module calls, outermost first. */
  readonly stack: Int32Array;
  /** The innermost customGrad scope, or -1. */
  readonly scope: Int32Array;
  /** For a backward op, the forward op that it differentiates, otherwise -1. */
  readonly forwardOp: IndexColumn<OpIndex>;
  /** The scope of the customGrad whose gradient function runs this backward op, otherwise -1. */
  readonly forwardScope: Int32Array;
  /** Tensors that ops read (`inputs`) and return (`outputs`), in argument order. */
  readonly inputs: Rows<IndexColumn<TensorIndex>>;
  readonly outputs: Rows<IndexColumn<TensorIndex>>;
  /**
   * Inputs and outputs that existed before the op and that the op writes into, whether or not it returns them. By
   * default, these are the outputs of an in-place op.
   */
  readonly writes: Rows<IndexColumn<TensorIndex>>;
  /** Index into `trace.strings` of a JSON object with the attributes, or -1. */
  readonly attributes: Int32Array;
  /** Index into `trace.strings` of the user's source line that the op comes from, as `file:line:column`, or -1. */
  readonly line: Int32Array;
  readonly runtimeMs: Float64Array;
  /** One of {@link RuntimeSource}. */
  readonly runtimeSource: Uint8Array;
  /**
   * For a measured runtime: half the interquartile range in ms (NaN if unknown), and the number of runs behind the
   * median.
   */
  readonly runtimeSpreadMs: Float64Array;
  readonly runtimeRuns: Int32Array;
  /** Floating-point operations, or NaN if unknown. */
  readonly flops: Float64Array;
  /** Bytes read from and written to memory, or NaN if unknown. */
  readonly bytesRead: Float64Array;
  readonly bytesWritten: Float64Array;
}

/** Storages in order of allocation. */
export interface StorageColumns {
  readonly count: number;
  /** Requested size in bytes at the first allocation. */
  readonly bytes: Float64Array;
  /** Index into `trace.strings`. */
  readonly device: Int32Array;
  /** {@link Category} at the allocation. Later changes are `categorize` events. */
  readonly category: Uint8Array;
}

/** Tensors: views of storages. */
export interface TensorColumns {
  readonly count: number;
  readonly storage: IndexColumn<StorageIndex>;
  /** Index into `trace.strings`. */
  readonly dtype: Int32Array;
  readonly shape: Rows<Float64Array>;
  /** Strides in elements. An empty row means contiguous. */
  readonly strides: Rows<Float64Array>;
  /** The storages of each tensor that has several (complex numbers, wrapper subclasses). */
  readonly moreStorages: ReadonlyMap<TensorIndex, readonly StorageIndex[]>;
}

/** Calls of modules, in the order in which they began. */
export interface CallColumns {
  readonly count: number;
  readonly module: IndexColumn<ModuleIndex>;
  /** Number of earlier calls of this module. */
  readonly number: Int32Array;
  /** The enclosing module call, or -1. */
  readonly parent: IndexColumn<CallIndex>;
  /** 1 if any argument of the call was a tensor. */
  readonly tensorInput: Uint8Array;
}

/**
 * The tensors that modules own. A later row of the same module replaces an earlier one, since a layer may create its
 * weights at its first call.
 */
export interface WeightColumns {
  readonly count: number;
  readonly module: IndexColumn<ModuleIndex>;
  /** Tensors that are parameters of the module or its submodules. */
  readonly parameters: Rows<IndexColumn<TensorIndex>>;
  /** Tensors that are buffers (state without a gradient) of the module or its submodules. */
  readonly buffers: Rows<IndexColumn<TensorIndex>>;
}

/** The tensors that module calls received and returned, forward and backward. */
export interface ModuleEventColumns {
  readonly count: number;
  readonly call: IndexColumn<CallIndex>;
  /** A {@link Phase}: forward, backward, or recompute (a forward call recomputed for checkpointing). */
  readonly phase: Uint8Array;
  /** Tensors passed: inputs on enter, outputs on exit. */
  readonly tensors: Rows<IndexColumn<TensorIndex>>;
}

/** Tensors saved by autograd. */
export interface SaveColumns {
  readonly count: number;
  /** The op whose gradient needs the tensor, or -1 if unknown. */
  readonly op: IndexColumn<OpIndex>;
  readonly storage: IndexColumn<StorageIndex>;
  /**
   * The saved tensor, or -1. `storage` is always the storage that is kept alive. If saving copies the tensor
   * (`Identity` on wasm), `tensor` is the original and `storage` belongs to the copy.
   */
  readonly tensor: IndexColumn<TensorIndex>;
  /** One of {@link SavedAs}. */
  readonly as: Uint8Array;
}

/**
 * Everything that happened, in order. `kind` is an {@link EventKind}. The meaning of `subject` and `value` depends on
 * the kind:
 *
 * - op: op
 * - allocate, free: storage
 * - resize: storage, bytes
 * - categorize: storage, category
 * - enterModule, exitModule: row of `moduleEvents`
 * - save: row of `saves`
 * - unpack: row of `saves`. The backward pass reads the saved tensor.
 * - unsave: row of `saves`. Autograd releases the saved tensor.
 * - savedOnly: storage. From here on only saved tensors keep it alive.
 * - enterScope, exitScope: scope
 * - mark: index into `strings`
 * - fsdpHook: row of `moduleEvents`, {@link FsdpHook}
 *
 * The storages that an op creates are allocated before its op event. If a storage is freed between those allocations
 * and the op event, the op itself freed it.
 */
export interface EventColumns {
  readonly count: number;
  readonly kind: Uint8Array;
  readonly subject: Int32Array;
  readonly value: Float64Array;
}

/** The parts of a {@link Trace}. */
export interface TraceParts {
  readonly header: TraceHeader;
  readonly strings: readonly string[];
  readonly modules: readonly Module[];
  readonly scopes: readonly Scope[];
  readonly stacks: Rows<IndexColumn<CallIndex>>;
  readonly calls: CallColumns;
  readonly weights: WeightColumns;
  readonly ops: OpColumns;
  readonly storages: StorageColumns;
  readonly tensors: TensorColumns;
  readonly moduleEvents: ModuleEventColumns;
  readonly saves: SaveColumns;
  readonly events: EventColumns;
  readonly truncated?: { readonly line: number; readonly reason: string } | undefined;
  readonly recordedIn?: ReadonlyMap<string, TraceParts>;
}

/**
 * One run of a model in columns: its modules, storages, tensors and ops, and the events of the run. Created by
 * `TraceBuilder` or `readTrace`, and not to be changed. Items refer to each other by index. -1 means none.
 */
export class Trace implements TraceParts {
  readonly header: TraceHeader;
  /** Interned names: kernels, dtypes, devices, marks, source lines, attributes as JSON. */
  readonly strings: readonly string[];
  readonly modules: readonly Module[];
  readonly scopes: readonly Scope[];
  /** Distinct lists of active module calls, outermost first. Row 0 is the empty list. */
  readonly stacks: Rows<IndexColumn<CallIndex>>;
  readonly calls: CallColumns;
  readonly weights: WeightColumns;
  readonly ops: OpColumns;
  readonly storages: StorageColumns;
  readonly tensors: TensorColumns;
  readonly moduleEvents: ModuleEventColumns;
  readonly saves: SaveColumns;
  readonly events: EventColumns;
  /** Set if a file ended early: the last complete line, and the reason why reading stopped. */
  readonly truncated: { readonly line: number; readonly reason: string } | undefined;
  /**
   * The same step recorded with its weights in other dtypes, by dtype (`bfloat16`). A run in one dtype does not show
   * the casts and kernels of another.
   */
  readonly recordedIn: ReadonlyMap<string, Trace>;

  constructor(parts: TraceParts) {
    this.header = parts.header;
    this.strings = parts.strings;
    this.modules = parts.modules;
    this.scopes = parts.scopes;
    this.stacks = parts.stacks;
    this.calls = parts.calls;
    this.weights = parts.weights;
    this.ops = parts.ops;
    this.storages = parts.storages;
    this.tensors = parts.tensors;
    this.moduleEvents = parts.moduleEvents;
    this.saves = parts.saves;
    this.events = parts.events;
    this.truncated = parts.truncated;
    // A trace from another thread is plain data.
    this.recordedIn = new Map(
      Array.from(parts.recordedIn ?? [], ([dtype, run]) => [dtype, run instanceof Trace ? run : new Trace(run)]),
    );
  }

  opName(op: OpIndex): string {
    return this.strings[this.ops.name[op]];
  }

  /** Returns the attributes of `op` as an object, which is parsed at each call. */
  opAttributes(op: OpIndex): Readonly<Record<string, unknown>> {
    const id = this.ops.attributes[op];
    return id < 0 ? {} : (JSON.parse(this.strings[id]) as Record<string, unknown>);
  }

  /** Returns the user's source line that `op` comes from, as `file:line:column`, or undefined if unknown. */
  opLine(op: OpIndex): string | undefined {
    const id = this.ops.line[op];
    return id < 0 ? undefined : this.strings[id];
  }

  opInputs(op: OpIndex): IndexColumn<TensorIndex> {
    return row(this.ops.inputs, op);
  }

  opOutputs(op: OpIndex): IndexColumn<TensorIndex> {
    return row(this.ops.outputs, op);
  }

  /** Returns the tensors that existed before `op` and that it writes into. */
  opWrites(op: OpIndex): IndexColumn<TensorIndex> {
    return row(this.ops.writes, op);
  }

  /** Returns the module calls that were active when `op` ran, outermost first. */
  opCalls(op: OpIndex): IndexColumn<CallIndex> {
    return row(this.stacks, this.ops.stack[op]);
  }

  /** Returns the innermost module of `op`, or undefined outside of every module. */
  opModule(op: OpIndex): Module | undefined {
    const calls = this.opCalls(op);
    return calls.length === 0 ? undefined : this.modules[this.calls.module[calls[calls.length - 1]]];
  }

  tensorShape(tensor: TensorIndex): readonly number[] {
    const { start, values } = this.tensors.shape;
    const shape: number[] = [];
    // Every simulation calls this for every tensor, and `Array.from` takes ten times as long.
    for (let i = start[tensor]; i < start[tensor + 1]; i++) shape.push(values[i]);
    return shape;
  }

  tensorDtype(tensor: TensorIndex): string {
    return this.strings[this.tensors.dtype[tensor]];
  }

  /**
   * Returns every storage that `tensor` is a view of. There is only one, except for complex numbers and wrapper
   * subclasses.
   */
  tensorStorages(tensor: TensorIndex): readonly StorageIndex[] {
    return this.tensors.moreStorages.get(tensor) ?? [this.tensors.storage[tensor]];
  }

  /** Returns whether any op ran in `phase`. */
  hasPhase(phase: number): boolean {
    return this.ops.phase.includes(phase);
  }

  /** Returns a copy with other runtimes, to estimate a trace for another device. */
  withRuntimes(runtimes: Pick<OpColumns, "runtimeMs" | "runtimeSource"> & Partial<OpColumns>): Trace {
    return new Trace({ ...this, ops: { ...this.ops, ...runtimes } });
  }

  /** Returns a copy with another header, for notes added after the run. */
  withHeader(header: TraceHeader): Trace {
    return new Trace({ ...this, header });
  }
}

/** Returns row `index` of compressed rows, without a copy. */
export function row<T extends Int32Array | Float64Array>(rows: Rows<T>, index: number): T {
  return rows.values.subarray(rows.start[index], rows.start[index + 1]) as T;
}

/** Returns the position in `trace.events` of each op. */
export function opEventPositions(trace: Trace): Int32Array {
  const positions = new Int32Array(trace.ops.count);
  const { count, kind, subject } = trace.events;
  for (let i = 0; i < count; i++) if (kind[i] === EventKind.op) positions[subject[i]] = i;
  return positions;
}
