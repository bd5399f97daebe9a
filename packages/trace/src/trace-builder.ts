import {
  checkAmount,
  checkIndex,
  checkIndices,
  checkKnownAmount,
  checkOptionalIndex,
  checkShape,
  checkStrides,
} from "./check-field.js";
import { indexRows, newColumns, viewColumns } from "./growing-columns.js";
import {
  type CallIndex,
  callIndex,
  type ModuleIndex,
  moduleIndex,
  type OpIndex,
  opIndex,
  type StorageIndex,
  storageIndex,
  type TensorIndex,
  tensorIndex,
} from "./index-types.js";
import { type Module, type Scope, Trace, type TraceHeader } from "./trace.js";
import { TraceFieldError } from "./trace-field-error.js";
import {
  Category,
  categoryNames,
  EventKind,
  fsdpHookNames,
  OpFlag,
  Phase,
  phaseNames,
  RuntimeSource,
  runtimeSourceNames,
  SavedAs,
  savedAsNames,
} from "./vocabulary.js";

/** The description of an op for `TraceBuilder.op`. Omitted fields are unknown or do not apply. */
export interface OpRecord {
  readonly name: string;
  readonly phase?: number;
  readonly flags?: number;
  /** The result of `TraceBuilder.stack` or `TraceBuilder.stackOfCall`, or 0 outside of every module. */
  readonly stack?: number;
  readonly scope?: number;
  readonly forwardOp?: OpIndex | -1;
  readonly forwardScope?: number;
  readonly inputs?: ArrayLike<TensorIndex>;
  readonly outputs?: ArrayLike<TensorIndex>;
  /**
   * Tensors that existed before the op and whose storages it writes into. Default: the outputs if the op has the flag
   * `inPlace`, otherwise none.
   */
  readonly writes?: ArrayLike<TensorIndex> | undefined;
  /** Attributes of the op. They are stored as JSON, so only values that JSON supports are allowed. */
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
  /** The user's source line, as `file:line:column`. */
  readonly line?: string | undefined;
  readonly runtimeMs?: number;
  readonly runtimeSource?: number;
  readonly runtimeSpreadMs?: number;
  readonly runtimeRuns?: number;
  readonly flops?: number;
  readonly bytesRead?: number;
  readonly bytesWritten?: number;
}

/**
 * The description of a tensor for `TraceBuilder.tensor`: a view of one storage, or of several (complex numbers, wrapper
 * subclasses).
 */
export interface TensorRecord {
  readonly storage: StorageIndex | readonly StorageIndex[];
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Strides in elements. Default: contiguous. */
  readonly strides?: readonly number[] | undefined;
}

const none: readonly never[] = [];
const allFlags = Object.values(OpFlag).reduce((all: number, flag) => all | flag, 0);

/**
 * Builds a trace from observations, in the order in which they happen. Methods that add an item return its index.
 *
 * @example
 * const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "real", allocationUnitBytes: 1 });
 * const a = b.tensor({ storage: b.allocate(400, "cpu", Category.input), dtype: "float32", shape: [10, 10] });
 * const out = b.tensor({ storage: b.allocate(400, "cpu", Category.activation), dtype: "float32", shape: [10, 10] });
 * b.op({ name: "Relu", inputs: [a], outputs: [out] });
 * const trace = b.build();
 */
export class TraceBuilder {
  readonly header: TraceHeader;
  private readonly strings: string[] = [];
  private readonly stringIds = new Map<string, number>();
  private readonly modules: Module[] = [];
  private readonly scopes: Scope[] = [];
  /** Scopes that were entered or left at least once. */
  private readonly entered = new Set<number>();
  private readonly exited = new Set<number>();
  private readonly stackRows = indexRows<CallIndex>();
  private readonly stackIds = new Map<string, number>();
  private readonly stackByCall: number[] = [];
  private readonly callsOfModule: number[] = [];
  private readonly columns = newColumns();
  private readonly moreStorages = new Map<TensorIndex, readonly StorageIndex[]>();
  /** The highest op for which a tensor is saved, or -1 if none exists. @internal */
  lastSavedOp = -1;

  constructor(header: TraceHeader) {
    this.header = header;
    this.stackRows.push(none);
    this.stackIds.set("", 0);
  }

  get opCount(): number {
    return this.columns.ops.name.length;
  }
  get storageCount(): number {
    return this.columns.storages.bytes.length;
  }
  get tensorCount(): number {
    return this.columns.tensors.storage.length;
  }
  get callCount(): number {
    return this.columns.calls.module.length;
  }
  get moduleCount(): number {
    return this.modules.length;
  }
  get scopeCount(): number {
    return this.scopes.length;
  }
  get saveCount(): number {
    return this.columns.saves.op.length;
  }
  get eventCount(): number {
    return this.columns.events.kind.length;
  }

  /** Returns the index of `text` in the trace's strings. If the text is new, adds it. */
  string(text: string): number {
    let id = this.stringIds.get(text);
    if (id === undefined) {
      id = this.strings.length;
      this.strings.push(text);
      this.stringIds.set(text, id);
    }
    return id;
  }

  /** Adds a module. Its name must not be empty. Use {@link call} for its calls. */
  module(module: Module): ModuleIndex {
    if (module.fqn === "") throw new TraceFieldError("fqn", "expected the name of a module, found an empty one");
    this.modules.push(module);
    this.callsOfModule.push(0);
    return moduleIndex(this.modules.length - 1);
  }

  /** Adds a call of `module` inside the call `parent` (-1 for none). Entering and leaving it are separate events. */
  call(module: ModuleIndex, parent: CallIndex | -1, tensorInput: boolean): CallIndex {
    checkIndex("module", module, this.modules.length);
    checkOptionalIndex("parent", parent, this.callCount);
    this.columns.calls.module.push(module);
    this.columns.calls.number.push(this.callsOfModule[module]++);
    this.columns.calls.parent.push(callIndex(parent));
    this.columns.calls.tensorInput.push(tensorInput ? 1 : 0);
    return callIndex(this.callCount - 1);
  }

  /**
   * Sets the tensors that `module` owns: its parameters and buffers, including those of its submodules. May be called
   * at any time, and again after a change.
   */
  moduleWeights(module: ModuleIndex, parameters: ArrayLike<TensorIndex>, buffers: ArrayLike<TensorIndex> = none): void {
    checkIndex("module", module, this.modules.length);
    checkIndices("parameters", parameters, this.tensorCount);
    checkIndices("buffers", buffers, this.tensorCount);
    this.columns.weights.module.push(module);
    this.columns.weights.parameters.push(parameters);
    this.columns.weights.buffers.push(buffers);
  }

  /** Returns the index of a list of active module calls, outermost first. For most ops, use `stackOfCall`. */
  stack(calls: ArrayLike<CallIndex>): number {
    const key = Array.prototype.join.call(calls, ",");
    let id = this.stackIds.get(key);
    if (id === undefined) {
      checkIndices("stack", calls, this.callCount);
      id = this.stackIds.size;
      this.stackRows.push(calls);
      this.stackIds.set(key, id);
    }
    return id;
  }

  /** Returns the stack of `call` and its enclosing calls, or 0 for -1. */
  stackOfCall(call: CallIndex | -1): number {
    if (call < 0) return 0;
    const known = this.stackByCall[call];
    if (known !== undefined) return known;
    const chain: CallIndex[] = [];
    for (let c = callIndex(call); c >= 0; c = this.columns.calls.parent.values[c]) chain.push(c);
    return (this.stackByCall[call] = this.stack(chain.reverse()));
  }

  /**
   * Adds a scope inside the scope `parent` (-1 for none): a composite with its own gradient, or a checkpointed region.
   */
  scope(name: string, parent = -1, more: Pick<Scope, "checkpoint" | "line"> = {}): number {
    checkOptionalIndex("parent", parent, this.scopes.length);
    this.scopes.push({ name, parent, ...more });
    return this.scopes.length - 1;
  }

  /** Records the allocation of a storage and returns its index. `bytes` is the requested size. */
  allocate(bytes: number, device: string = this.header.device, category: number = Category.other): StorageIndex {
    checkAmount("bytes", bytes, "bytes");
    checkIndex("category", category, categoryNames.length);
    this.columns.storages.bytes.push(bytes);
    this.columns.storages.device.push(this.string(device));
    this.columns.storages.category.push(category);
    const storage = storageIndex(this.storageCount - 1);
    this.event(EventKind.allocate, storage);
    return storage;
  }

  /** Records that `storage` is freed. */
  free(storage: StorageIndex): void {
    checkIndex("storage", storage, this.storageCount);
    this.event(EventKind.free, storage);
  }

  /** Records that `storage` has `bytes` bytes from here on. */
  resize(storage: StorageIndex, bytes: number): void {
    checkIndex("storage", storage, this.storageCount);
    checkAmount("bytes", bytes, "bytes");
    this.event(EventKind.resize, storage, bytes);
  }

  /** Records that `storage` has another category (a {@link Category}) from here on. */
  categorize(storage: StorageIndex, category: number): void {
    checkIndex("storage", storage, this.storageCount);
    checkIndex("category", category, categoryNames.length);
    this.event(EventKind.categorize, storage, category);
  }

  /** Adds a tensor. It has no event of its own. */
  tensor(tensor: TensorRecord): TensorIndex {
    const id = tensorIndex(this.tensorCount);
    let storage: StorageIndex;
    if (typeof tensor.storage === "number") {
      storage = tensor.storage;
      checkIndex("storage", storage, this.storageCount);
    } else {
      if (tensor.storage.length === 0)
        throw new TraceFieldError("storage", "expected at least one storage, found none");
      checkIndices("storage", tensor.storage, this.storageCount);
      storage = tensor.storage[0];
    }
    checkShape(tensor.shape);
    if (tensor.strides !== undefined) checkStrides(tensor.strides);
    this.columns.tensors.storage.push(storage);
    this.columns.tensors.dtype.push(this.string(tensor.dtype));
    this.columns.tensors.shape.push(tensor.shape);
    this.columns.tensors.strides.push(tensor.strides ?? none);
    if (typeof tensor.storage !== "number" && tensor.storage.length > 1)
      this.moreStorages.set(id, tensor.storage.slice());
    return id;
  }

  /** Returns the storages of a tensor. */
  storagesOf(tensor: TensorIndex): readonly StorageIndex[] {
    checkIndex("tensor", tensor, this.tensorCount);
    return this.moreStorages.get(tensor) ?? [this.columns.tensors.storage.values[tensor]];
  }

  /** Returns the {@link Category} that a storage had when it was allocated. */
  categoryOf(storage: StorageIndex): number {
    checkIndex("storage", storage, this.storageCount);
    return this.columns.storages.category.values[storage];
  }

  /** Records an op that has run. The storages of its outputs must have been allocated before. */
  op(op: OpRecord): OpIndex {
    const { ops } = this.columns;
    const inputs = op.inputs ?? none;
    const outputs = op.outputs ?? none;
    checkIndices("inputs", inputs, this.tensorCount);
    checkIndices("outputs", outputs, this.tensorCount);
    const phase = op.phase ?? Phase.forward;
    const flags = op.flags ?? 0;
    const writes = op.writes ?? (flags & OpFlag.inPlace ? outputs : none);
    checkIndices("writes", writes, this.tensorCount);
    const stack = op.stack ?? 0;
    const scope = op.scope ?? -1;
    const forwardOp = opIndex(op.forwardOp ?? -1);
    const forwardScope = op.forwardScope ?? -1;
    const runtimeMs = op.runtimeMs ?? 0;
    const source = op.runtimeSource ?? (op.runtimeMs === undefined ? RuntimeSource.none : RuntimeSource.imported);
    const spreadMs = op.runtimeSpreadMs ?? Number.NaN;
    const runs = op.runtimeRuns ?? 0;
    const flops = op.flops ?? Number.NaN;
    const bytesRead = op.bytesRead ?? Number.NaN;
    const bytesWritten = op.bytesWritten ?? Number.NaN;
    checkIndex("phase", phase, phaseNames.length);
    checkIndex("flags", flags, allFlags + 1);
    checkIndex("stack", stack, this.stackIds.size);
    checkOptionalIndex("scope", scope, this.scopes.length);
    checkOptionalIndex("forwardOp", forwardOp, this.opCount);
    checkOptionalIndex("forwardScope", forwardScope, this.scopes.length);
    checkAmount("runtimeMs", runtimeMs, "ms");
    checkIndex("runtimeSource", source, runtimeSourceNames.length);
    checkKnownAmount("runtimeSpreadMs", spreadMs, "ms");
    checkIndex("runtimeRuns", runs, 2 ** 31);
    checkKnownAmount("flops", flops, "operations");
    checkKnownAmount("bytesRead", bytesRead, "bytes");
    checkKnownAmount("bytesWritten", bytesWritten, "bytes");
    ops.name.push(this.string(op.name));
    ops.phase.push(phase);
    ops.flags.push(flags);
    ops.stack.push(stack);
    ops.scope.push(scope);
    ops.forwardOp.push(forwardOp);
    ops.forwardScope.push(forwardScope);
    ops.inputs.push(inputs);
    ops.outputs.push(outputs);
    ops.writes.push(writes);
    ops.attributes.push(op.attributes === undefined ? -1 : this.string(JSON.stringify(op.attributes)));
    ops.line.push(op.line === undefined ? -1 : this.string(op.line));
    ops.runtimeMs.push(runtimeMs);
    ops.runtimeSource.push(source);
    ops.runtimeSpreadMs.push(spreadMs);
    ops.runtimeRuns.push(runs);
    ops.flops.push(flops);
    ops.bytesRead.push(bytesRead);
    ops.bytesWritten.push(bytesWritten);
    const index = opIndex(this.opCount - 1);
    this.event(EventKind.op, index);
    return index;
  }

  /**
   * Records that a module call begins. `tensors` are the inputs of the call, or in the backward pass the gradients of
   * its outputs.
   */
  enterModule(call: CallIndex, phase: number = Phase.forward, tensors: ArrayLike<TensorIndex> = none): void {
    this.moduleEvent(EventKind.enterModule, call, phase, tensors);
  }

  /**
   * Records that a module call ends. `tensors` are the outputs of the call, or in the backward pass the gradients of
   * its inputs.
   */
  exitModule(call: CallIndex, phase: number = Phase.forward, tensors: ArrayLike<TensorIndex> = none): void {
    this.moduleEvent(EventKind.exitModule, call, phase, tensors);
  }

  /** Records that FSDP's work around `call` starts or ends. `hook` is an {@link FsdpHook}. */
  fsdpHook(call: CallIndex, phase: number, hook: number): void {
    checkIndex("hook", hook, fsdpHookNames.length);
    this.moduleEvent(EventKind.fsdpHook, call, phase, none, hook);
  }

  /**
   * Records that the following ops run in `scope`. At the first entry, `tensors` are stored as the tensors given to the
   * scope.
   */
  enterScope(scope: number, tensors?: ArrayLike<TensorIndex>): void {
    this.addToScope(scope, "given", tensors);
    this.event(EventKind.enterScope, scope);
  }

  /**
   * Records that the following ops run outside of `scope` again. At the first exit, `tensors` are stored as the tensors
   * that the scope returned.
   */
  exitScope(scope: number, tensors?: ArrayLike<TensorIndex>): void {
    this.addToScope(scope, "returned", tensors);
    this.event(EventKind.exitScope, scope);
  }

  /**
   * Records that autograd saves `storage` for the gradient of `op`. `op` is an op that has run, the next op, or -1 if
   * unknown.
   */
  save(storage: StorageIndex, op: OpIndex | -1 = -1, as: number = SavedAs.other, tensor: TensorIndex | -1 = -1): void {
    checkIndex("storage", storage, this.storageCount);
    checkOptionalIndex("tensor", tensor, this.tensorCount);
    // A kernel may save a tensor before it is done, so the op may be the next one.
    checkOptionalIndex("op", op, this.opCount + 1);
    checkIndex("as", as, savedAsNames.length);
    this.lastSavedOp = Math.max(this.lastSavedOp, op);
    this.columns.saves.op.push(opIndex(op));
    this.columns.saves.storage.push(storage);
    this.columns.saves.tensor.push(tensorIndex(tensor));
    this.columns.saves.as.push(as);
    this.event(EventKind.save, this.columns.saves.op.length - 1);
  }

  /** Records that the backward pass reads the saved tensor `save`. */
  unpack(save: number): void {
    checkIndex("save", save, this.saveCount);
    this.event(EventKind.unpack, save);
  }

  /** Records that autograd releases the saved tensor `save`. */
  unsave(save: number): void {
    checkIndex("save", save, this.saveCount);
    this.event(EventKind.unsave, save);
  }

  /** Records that from here on only autograd's saved tensors keep `storage` alive. */
  savedOnly(storage: StorageIndex): void {
    checkIndex("storage", storage, this.storageCount);
    this.event(EventKind.savedOnly, storage);
  }

  /** Records a named moment, such as the end of a step. */
  mark(name: string): void {
    this.event(EventKind.mark, this.string(name));
  }

  /** Returns the trace so far. Its columns are views that do not include later records. */
  build(truncated?: { line: number; reason: string }): Trace {
    const { calls, weights, ops, storages, tensors, moduleEvents, saves, events } = this.columns;
    return new Trace({
      header: this.header,
      strings: this.strings.slice(),
      modules: this.modules.slice(),
      scopes: this.scopes.slice(),
      stacks: this.stackRows.view(),
      calls: { count: this.callCount, ...viewColumns(calls) },
      weights: { count: weights.module.length, ...viewColumns(weights) },
      ops: { count: this.opCount, ...viewColumns(ops) },
      storages: { count: this.storageCount, ...viewColumns(storages) },
      tensors: { count: this.tensorCount, ...viewColumns(tensors), moreStorages: new Map(this.moreStorages) },
      moduleEvents: { count: moduleEvents.call.length, ...viewColumns(moduleEvents) },
      saves: { count: saves.op.length, ...viewColumns(saves) },
      events: { count: this.eventCount, ...viewColumns(events) },
      truncated,
    });
  }

  /** Stores the tensors given to a scope or returned by it, the first time only. */
  private addToScope(scope: number, what: "given" | "returned", tensors: ArrayLike<TensorIndex> | undefined): void {
    checkIndex("scope", scope, this.scopes.length);
    const seen = what === "given" ? this.entered : this.exited;
    if (seen.has(scope)) return;
    seen.add(scope);
    if (tensors === undefined) return;
    checkIndices(what, tensors, this.tensorCount);
    this.scopes[scope] = { ...this.scopes[scope], [what]: Array.from(tensors) };
  }

  private moduleEvent(kind: number, call: CallIndex, phase: number, tensors: ArrayLike<TensorIndex>, value = 0): void {
    checkIndex("call", call, this.callCount);
    checkIndex("phase", phase, phaseNames.length);
    checkIndices("tensors", tensors, this.tensorCount);
    this.columns.moduleEvents.call.push(call);
    this.columns.moduleEvents.phase.push(phase);
    this.columns.moduleEvents.tensors.push(tensors);
    this.event(kind, this.columns.moduleEvents.call.length - 1, value);
  }

  private event(kind: number, subject: number, value = 0): void {
    this.columns.events.kind.push(kind);
    this.columns.events.subject.push(subject);
    this.columns.events.value.push(value);
  }
}
