import { readMemoryEvents } from "@remat/memory";
import {
  type CallIndex,
  EventKind,
  OpFlag,
  type OpIndex,
  Phase,
  row,
  type StorageIndex,
  type Trace,
  TraceCopy,
} from "@remat/trace";

/**
 * Writes a copy of a trace while it is read, event by event. Subclasses change parts of the copy.
 *
 * @internal
 */
export class EventCopy {
  protected readonly trace: Trace;
  protected readonly copy: TraceCopy;
  /**
   * For each storage, tensor, save and call of the source, its latest counterpart in the copy. For tensors, also the
   * storage of the counterpart.
   */
  protected readonly storageFor: Int32Array;
  protected readonly callFor: Int32Array;
  private readonly tensorFor: Int32Array;
  private readonly tensorStorage: Int32Array;
  private readonly saveFor: Int32Array;
  /** For each storage of the source, the first tensor on it, or -1. */
  protected readonly firstTensor: Int32Array;
  protected readonly isLive: Set<number> = new Set();
  private lastStack = 0;

  constructor(trace: Trace, notes: readonly string[]) {
    this.trace = trace;
    this.copy = new TraceCopy(trace, notes);
    const none = (count: number): Int32Array => new Int32Array(count).fill(-1);
    this.storageFor = none(trace.storages.count);
    this.tensorFor = none(trace.tensors.count);
    this.tensorStorage = none(trace.tensors.count);
    this.saveFor = none(trace.saves.count);
    this.firstTensor = none(trace.storages.count);
    for (let tensor = trace.tensors.count - 1; tensor >= 0; tensor--)
      this.firstTensor[trace.tensors.storage[tensor]] = tensor;
    this.callFor = Int32Array.from({ length: trace.calls.count }, (_, call) => call);
  }

  build(): Trace {
    const { weights, truncated } = this.trace;
    for (let i = 0; i < weights.count; i++)
      this.copy.builder.moduleWeights(
        weights.module[i],
        this.tensors(row(weights.parameters, i)),
        this.tensors(row(weights.buffers, i)),
      );
    return this.copy.builder.build(truncated);
  }

  /** Writes the events from `begin` up to `end`. */
  write(begin: number, end: number): void {
    readMemoryEvents(
      this.trace,
      {
        op: (op) => this.op(op),
        allocate: (storage) => this.allocate(storage),
        free: (storage) => this.free(storage),
        resize: (storage, bytes) => {
          if (this.storageFor[storage] >= 0) this.copy.builder.resize(this.storageFor[storage], bytes);
        },
        categorize: (storage, category) => this.categorize(storage, category),
        other: (kind, item) => this.other(kind, item),
      },
      begin,
      end,
    );
  }

  private other(kind: number, item: number): void {
    const { trace, copy } = this;
    const { moduleEvents, strings, saves } = trace;
    const { builder } = copy;
    switch (kind) {
      case EventKind.enterModule:
        builder.enterModule(this.call(moduleEvents.call[item]), moduleEvents.phase[item], this.eventTensors(item));
        break;
      case EventKind.exitModule:
        builder.exitModule(this.call(moduleEvents.call[item]), moduleEvents.phase[item], this.eventTensors(item));
        break;
      case EventKind.save: {
        const storage = this.storageFor[saves.storage[item]];
        if (storage < 0) break;
        this.saveFor[item] = builder.saveCount;
        const [tensor = -1] = saves.tensor[item] < 0 ? [] : this.tensors(Int32Array.of(saves.tensor[item]));
        builder.save(storage, copy.latestOf(saves.op[item]), saves.as[item], tensor);
        break;
      }
      case EventKind.unpack:
        if (this.saveFor[item] >= 0) builder.unpack(this.saveFor[item]);
        break;
      case EventKind.unsave:
        if (this.saveFor[item] >= 0) builder.unsave(this.saveFor[item]);
        break;
      case EventKind.enterScope:
        builder.enterScope(item);
        break;
      case EventKind.exitScope:
        builder.exitScope(item);
        break;
      case EventKind.mark:
        builder.mark(strings[item]);
        break;
      case EventKind.savedOnly:
        if (this.isLive.has(this.storageFor[item])) builder.savedOnly(this.storageFor[item]);
        break;
    }
  }

  protected op(op: OpIndex): void {
    const { trace, copy } = this;
    const stack = this.stackOf(op);
    const inputs = this.tensors(trace.opInputs(op));
    const outputs = this.tensors(trace.opOutputs(op));
    // Attributes refer to tensors by position, so they only fit if all tensors are there.
    const isWhole = inputs.length === trace.opInputs(op).length && outputs.length === trace.opOutputs(op).length;
    const hasAttributes = isWhole && trace.ops.attributes[op] >= 0;
    copy.op(op, { inputs, outputs, stack, ...(hasAttributes && { attributes: trace.opAttributes(op) }) });
    this.lastStack = stack;
  }

  protected allocate(storage: StorageIndex): void {
    const { storages, strings } = this.trace;
    const here = this.copy.builder.allocate(
      this.bytesOf(storage),
      strings[storages.device[storage]],
      storages.category[storage],
    );
    this.storageFor[storage] = here;
    this.isLive.add(here);
  }

  protected bytesOf(storage: StorageIndex): number {
    return this.trace.storages.bytes[storage];
  }

  protected categorize(storage: StorageIndex, category: number): void {
    if (this.isLive.has(this.storageFor[storage])) this.copy.builder.categorize(this.storageFor[storage], category);
  }

  protected free(storage: StorageIndex): void {
    const here = this.storageFor[storage];
    if (this.isLive.delete(here)) this.copy.builder.free(here);
  }

  /**
   * Writes an op that the source does not have. It covers whole storages, each with the dtype and shape of the first
   * tensor of `like` in the source, and it writes to the first storage.
   */
  protected extraOp(
    name: string,
    phase: number,
    on: readonly { readonly storage: number; readonly like: number }[],
  ): void {
    const { trace, copy } = this;
    const inputs = on.map(({ storage, like }) =>
      copy.builder.tensor({
        storage,
        dtype: trace.tensorDtype(this.firstTensor[like]),
        shape: trace.tensorShape(this.firstTensor[like]),
      }),
    );
    const stack = phase === Phase.backward ? this.lastStack : 0;
    copy.builder.op({ name, phase, flags: OpFlag.inPlace, stack, inputs, outputs: inputs.slice(0, 1) });
  }

  /** Returns the counterpart of `call`, and creates it if none exists. */
  private call(call: CallIndex): number {
    if (this.callFor[call] < 0) {
      const { module, parent, tensorInput } = this.trace.calls;
      const around = parent[call] < 0 ? -1 : this.call(parent[call]);
      this.callFor[call] = this.copy.builder.call(module[call], around, tensorInput[call] === 1);
    }
    return this.callFor[call];
  }

  private stackOf(op: OpIndex): number {
    const calls = this.trace.opCalls(op);
    if (calls.every((call) => this.callFor[call] === call)) return this.trace.ops.stack[op];
    return this.copy.builder.stack(Array.from(calls, (call) => this.call(call)));
  }

  private eventTensors(eventRow: number): number[] {
    return this.tensors(row(this.trace.moduleEvents.tensors, eventRow));
  }

  /** Returns the counterparts of `tensors`, without tensors whose storage has no counterpart. */
  protected tensors(tensors: Int32Array): number[] {
    const { trace, tensorFor, tensorStorage } = this;
    const here: number[] = [];
    for (const tensor of tensors) {
      const storage = this.storageFor[trace.tensors.storage[tensor]];
      if (storage < 0) continue;
      if (tensorStorage[tensor] !== storage) {
        tensorStorage[tensor] = storage;
        tensorFor[tensor] = this.copy.builder.tensor({
          storage,
          dtype: trace.tensorDtype(tensor),
          shape: trace.tensorShape(tensor),
          strides: Array.from(row(trace.tensors.strides, tensor)),
        });
      }
      here.push(tensorFor[tensor]);
    }
    return here;
  }
}
