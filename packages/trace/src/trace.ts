import type { CallIndex, IndexColumn, ModuleIndex, OpIndex, StorageIndex, TensorIndex } from "./index-types.js";
import type { MemoryFailure } from "./memory-failure.js";
import type { StepSettings } from "./step-settings.js";
import { EventKind } from "./vocabulary.js";

/**
 * Gradients that take fewer kernels than those of TensorFlow.js itself: `equal` ones give the same to the bit, and `reordered` ones add in another order
 * where no other way is shorter.
 */
export type FasterGradients = "equal" | "reordered";

/**
 * What `torch.utils.checkpoint` takes by itself, beside the ops that it has run again, in milliseconds: hooks, frames and dispatch modes are Python's, whatever the device computes.
 */
export interface CheckpointingTimes {
  /** To enter a checkpointed call, and to begin to run it again. */
  readonly frame: number;
  /** The same of selective checkpointing, besides. */
  readonly selective: number;
  /** For each tensor that is not saved, and for each that is saved by running again. */
  readonly save: number;
  /** For each op under the dispatch modes of selective checkpointing, in either pass. */
  readonly dispatch: number;
  /** For each op of a call that has parts: to tell it from the others, and to keep it. */
  readonly count: number;
  /** For each op of a part that runs again. */
  readonly rerun: number;
}

/** What a trace says about itself: the first record of a file. */
export interface TraceHeader {
  readonly framework: "tfjs" | "pytorch" | (string & {});
  readonly frameworkVersion?: string;
  /** tfjs: the backend that ran, or that fake mode stood for. */
  readonly backend?: string;
  /** The device whose memory and time are meant, e.g. `cpu`, `cuda:0`. */
  readonly device: string;
  /** How much memory it had for what was recorded, where that is known. */
  readonly deviceMemoryBytes?: number;
  /** `fake`: shapes only; `real`: kernels ran. */
  readonly mode: "fake" | "real";
  /** Allocations on `device` are rounded up to a multiple of this many bytes. */
  readonly allocationUnitBytes: number;
  /** Name of the model or function that was traced. */
  readonly model?: string;
  /** How the step was taken, where this library took it. */
  readonly step?: StepSettings;
  /** tfjs: the gradients that were taken, if others than its own. */
  readonly fasterGradients?: FasterGradients;
  /** Of a step whose ops were timed on a device that works beside the host: what the host took to give it all of them, in milliseconds. */
  readonly hostMs?: number;
  /** PyTorch: what checkpointing takes on the machine that timed the ops, where that was measured. */
  readonly checkpointingMs?: CheckpointingTimes;
  /** PyTorch: how many modules the model has, those included that the step did not call. */
  readonly moduleCount?: number;
  /** Versions of what was involved, by package name. */
  readonly libraries?: Readonly<Record<string, string>>;
  /** Of a run that ended in the midst of this step for lack of memory: how. */
  readonly failure?: MemoryFailure;
  /** Of what PyTorch's caching allocator saw: its settings (`PYTORCH_CUDA_ALLOC_CONF`), and the most that it had reserved. */
  readonly allocator?: { readonly settings: string; readonly reservedPeakBytes: number };
  /** Sentences a reader should see, e.g. which loss was assumed. */
  readonly notes?: readonly string[];
}

/** A module of the model, once, however often it is called. */
export interface Module {
  /** Fully qualified name, components joined by dots: `model.block_1.conv`. */
  readonly fqn: string;
  /** Class of the module: `Conv2D`, `Linear`. */
  readonly kind: string;
  readonly leaf: boolean;
}

/** A composite with a gradient of its own (`customGrad`), or one run of a checkpointed region, kept as a scope around its ops (T1). */
export interface Scope {
  readonly name: string;
  /** The scope around this one, or -1. */
  readonly parent: number;
  /** Of a checkpointed region: how its inside is recomputed. It is entered in the forward pass, and again for each time that it is recomputed. */
  readonly checkpoint?: CheckpointForm;
  /** The user's source line that calls it, as `file:line`. */
  readonly line?: string;
  /** Tensors given to it, and those that it returned, where that was told; of a region that ran again, in the forward pass. */
  readonly given?: readonly TensorIndex[];
  readonly returned?: readonly TensorIndex[];
}

/**
 * The two forms of `torch.utils.checkpoint`: `nonReentrant` recomputes up to the last tensor that its backward pass asks for; `reentrant` all of it, in a backward
 * pass of its own. `replayed`: the kernels whose results the backward pass asks for are replayed, and what they make may go under living tensors (`checkpoint` of `@remat/checkpoint`).
 */
export type CheckpointForm = "nonReentrant" | "reentrant" | "replayed";

/** Compressed rows: row i is `values[start[i]] … values[start[i + 1] - 1]`. */
export interface Rows<T extends Int32Array | Float64Array = Int32Array> {
  readonly start: Int32Array;
  readonly values: T;
}

/** Ops in execution order (T1); a row of `inputs` and `outputs` is a list of tensors. */
export interface OpColumns {
  readonly count: number;
  /** Index into `trace.strings`: tfjs kernel name, or `aten.addmm.default`. */
  readonly name: Int32Array;
  /** {@link Phase}. */
  readonly phase: Uint8Array;
  /** Bits of {@link OpFlag}. */
  readonly flags: Uint16Array;
  /** Index into `trace.stacks`: the active module calls, outermost first (T5). */
  readonly stack: Int32Array;
  /** Innermost customGrad scope, or -1. */
  readonly scope: Int32Array;
  /** For a backward op the forward op that it differentiates, else -1. */
  readonly forwardOp: IndexColumn<OpIndex>;
  /** For a backward op of a customGrad's gradient function that scope, else -1. */
  readonly forwardScope: Int32Array;
  /** Tensors read and tensors made, in argument order. */
  readonly inputs: Rows<IndexColumn<TensorIndex>>;
  readonly outputs: Rows<IndexColumn<TensorIndex>>;
  /**
   * Among the inputs and outputs, the tensors that the op writes into and that were there before it, whether it returns them or not (T8). By default
   * those of an in-place op are its outputs.
   */
  readonly writes: Rows<IndexColumn<TensorIndex>>;
  /** Index into `trace.strings` of a JSON object with the attributes, or -1. */
  readonly attributes: Int32Array;
  /** Index into `trace.strings` of the user's source line that the op comes from, as `file:line:column`, or -1. */
  readonly line: Int32Array;
  readonly runtimeMs: Float64Array;
  /** {@link RuntimeSource}. */
  readonly runtimeSource: Uint8Array;
  /** Of a measured runtime: half the interquartile range in ms (NaN where unknown), and how many runs the median is of. */
  readonly runtimeSpreadMs: Float64Array;
  readonly runtimeRuns: Int32Array;
  /** NaN where unknown. */
  readonly flops: Float64Array;
  /** Bytes moved from and to memory, NaN where unknown. */
  readonly bytesRead: Float64Array;
  readonly bytesWritten: Float64Array;
}

/** Storages in order of allocation (T2). */
export interface StorageColumns {
  readonly count: number;
  /** Bytes as requested when first allocated. */
  readonly bytes: Float64Array;
  /** Index into `trace.strings`. */
  readonly device: Int32Array;
  /** {@link Category} when first allocated; later changes are `categorize` events. */
  readonly category: Uint8Array;
}

/** Tensors: views of storages (T2). */
export interface TensorColumns {
  readonly count: number;
  readonly storage: IndexColumn<StorageIndex>;
  /** Index into `trace.strings`. */
  readonly dtype: Int32Array;
  readonly shape: Rows<Float64Array>;
  /** In elements; an empty row means contiguous. */
  readonly strides: Rows<Float64Array>;
  /** Storages of a tensor that has several (complex numbers, wrapper subclasses), by tensor. */
  readonly moreStorages: ReadonlyMap<TensorIndex, readonly StorageIndex[]>;
}

/** Calls of modules, in the order in which they began. */
export interface CallColumns {
  readonly count: number;
  readonly module: IndexColumn<ModuleIndex>;
  /** How many calls of this module came before. */
  readonly number: Int32Array;
  /** The module call around this one, or -1. */
  readonly parent: IndexColumn<CallIndex>;
  /** Whether any argument of the call was a tensor. */
  readonly tensorInput: Uint8Array;
}

/** What modules own. A later row replaces an earlier one of the same module (a layer may make its weights at its first call). */
export interface WeightColumns {
  readonly count: number;
  readonly module: IndexColumn<ModuleIndex>;
  /** Tensors that are its parameters, those of the modules in it included. */
  readonly parameters: Rows<IndexColumn<TensorIndex>>;
  /** Tensors that are its buffers (state without a gradient), those of the modules in it included. */
  readonly buffers: Rows<IndexColumn<TensorIndex>>;
}

/** What module calls were passed as they began and ended (T5), forward and backward. */
export interface ModuleEventColumns {
  readonly count: number;
  readonly call: IndexColumn<CallIndex>;
  /** {@link Phase}: forward, backward, or recompute (a forward call recomputed for checkpointing). */
  readonly phase: Uint8Array;
  /** Tensors passed: inputs on enter, outputs on exit. */
  readonly tensors: Rows<IndexColumn<TensorIndex>>;
}

/** What autograd holds (T6). */
export interface SaveColumns {
  readonly count: number;
  /** The op for whose gradient the tensor is held, or -1 where that is not known. */
  readonly op: IndexColumn<OpIndex>;
  readonly storage: IndexColumn<StorageIndex>;
  /** The tensor that was saved, or -1. Where saving copies (`Identity` on wasm) it is not on `storage`, which is what is held. */
  readonly tensor: IndexColumn<TensorIndex>;
  /** {@link SavedAs}. */
  readonly as: Uint8Array;
}

/**
 * Everything in the order it happened. `kind` is {@link EventKind}; `subject` and `value` mean, by kind:
 * op (op, -) · allocate (storage, -) · free (storage, -) · resize (storage, bytes) · categorize (storage, category) ·
 * enterModule, exitModule (row of `moduleEvents`, -) · save (row of `saves`, -) · enterScope, exitScope (scope, -) ·
 * mark (index into `strings`, -) · fsdpHook (row of `moduleEvents`, {@link FsdpHook}) · unpack (row of `saves`, -): the backward pass asks for what was
 * saved · unsave (row of `saves`, -): autograd holds it no longer · savedOnly (storage, -): nothing else holds the storage from here on. Storages that an op makes are allocated before its op event; what is freed between the allocation
 * of an op's storages and its op event was freed by the op itself.
 */
export interface EventColumns {
  readonly count: number;
  readonly kind: Uint8Array;
  readonly subject: Int32Array;
  readonly value: Float64Array;
}

/** What a {@link Trace} is made of. */
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
 * One run of a model: its modules, storages, tensors, ops and what happened to them, in columns. Made by `TraceBuilder` or `readTrace`;
 * not to be changed. Indices everywhere; -1 means none.
 */
export class Trace implements TraceParts {
  readonly header: TraceHeader;
  /** Interned names: kernels, dtypes, devices, marks, source lines, attributes as JSON. */
  readonly strings: readonly string[];
  readonly modules: readonly Module[];
  readonly scopes: readonly Scope[];
  /** Distinct lists of active module calls, outermost first; row 0 is the empty list. */
  readonly stacks: Rows<IndexColumn<CallIndex>>;
  readonly calls: CallColumns;
  readonly weights: WeightColumns;
  readonly ops: OpColumns;
  readonly storages: StorageColumns;
  readonly tensors: TensorColumns;
  readonly moduleEvents: ModuleEventColumns;
  readonly saves: SaveColumns;
  readonly events: EventColumns;
  /** Set when a file ended early: the last line that was whole, and why reading stopped. */
  readonly truncated: { readonly line: number; readonly reason: string } | undefined;
  /** The same step recorded with its weights in other dtypes, by dtype (`bfloat16`): a run in one dtype does not show what the model's code casts, and which kernels run, in another. */
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
    // What comes from another thread is plain data.
    this.recordedIn = new Map(
      Array.from(parts.recordedIn ?? [], ([dtype, run]) => [dtype, run instanceof Trace ? run : new Trace(run)]),
    );
  }

  opName(op: OpIndex): string {
    return this.strings[this.ops.name[op]];
  }

  /** Attributes of `op` as an object; parsed anew at each call. */
  opAttributes(op: OpIndex): Readonly<Record<string, unknown>> {
    const id = this.ops.attributes[op];
    return id < 0 ? {} : (JSON.parse(this.strings[id]) as Record<string, unknown>);
  }

  /** The user's source line that `op` comes from, as `file:line:column`; undefined where it is not known. */
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

  /** Tensors that `op` writes into and that were there before it. */
  opWrites(op: OpIndex): IndexColumn<TensorIndex> {
    return row(this.ops.writes, op);
  }

  /** The module calls active when `op` ran, outermost first. */
  opCalls(op: OpIndex): IndexColumn<CallIndex> {
    return row(this.stacks, this.ops.stack[op]);
  }

  /** Innermost module of `op`, or undefined outside every module. */
  opModule(op: OpIndex): Module | undefined {
    const calls = this.opCalls(op);
    return calls.length === 0 ? undefined : this.modules[this.calls.module[calls[calls.length - 1]]];
  }

  tensorShape(tensor: TensorIndex): readonly number[] {
    const { start, values } = this.tensors.shape;
    const shape: number[] = [];
    // Asked for of every tensor by every simulation: `Array.from` takes ten times as long.
    for (let i = start[tensor]; i < start[tensor + 1]; i++) shape.push(values[i]);
    return shape;
  }

  tensorDtype(tensor: TensorIndex): string {
    return this.strings[this.tensors.dtype[tensor]];
  }

  /** Every storage that `tensor` is a view of; one, but for complex numbers and wrapper subclasses. */
  tensorStorages(tensor: TensorIndex): readonly StorageIndex[] {
    return this.tensors.moreStorages.get(tensor) ?? [this.tensors.storage[tensor]];
  }

  /** Whether any op ran in `phase`. */
  hasPhase(phase: number): boolean {
    return this.ops.phase.includes(phase);
  }

  /** A copy with other runtimes, for pricing one trace on another device. */
  withRuntimes(runtimes: Pick<OpColumns, "runtimeMs" | "runtimeSource"> & Partial<OpColumns>): Trace {
    return new Trace({ ...this, ops: { ...this.ops, ...runtimes } });
  }

  /** A copy with another header, for notes added after the run. */
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
