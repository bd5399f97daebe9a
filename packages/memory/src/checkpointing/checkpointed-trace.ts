import {
  type CallIndex,
  EventKind,
  type OpIndex,
  Phase,
  row,
  type StorageIndex,
  type TensorIndex,
  type Trace,
  TraceCopy,
} from "@remat/trace";
import type { CheckpointObserver } from "./checkpoint-observer.js";
import type { CheckpointPolicy } from "./checkpoint-policy.js";
import { CheckpointableSteps } from "./checkpointable-steps.js";

/**
 * Builds the trace of a step as it would run under `torch.utils.checkpoint`. Tensors that are not saved are freed, and
 * recomputed in the backward pass by ops of the phase `recompute`, in calls that are entered again. Ops keep their
 * runtimes. A checkpointed call keeps its arguments alive, but the trace does not list them as saved tensors.
 */
export class CheckpointedSteps extends CheckpointableSteps {
  /** Returns the trace of the step under `policy`, with `note` added to the notes. */
  under(policy: CheckpointPolicy, note: string): Trace {
    const writer = new CheckpointedWriter(this.trace, note);
    this.simulate(policy, writer);
    return writer.build();
  }
}

class CheckpointedWriter implements CheckpointObserver {
  private readonly trace: Trace;
  private readonly copy: TraceCopy;
  /**
   * For each instance, its storage in the source and its storage in the copy. The storage in the copy is -1 once it is
   * freed.
   */
  private readonly sourceOf: number[] = [];
  private readonly storageOf: number[] = [];
  /** For each storage of the source, its first counterpart in the copy, and the instance that autograd saved last. */
  private readonly first: Int32Array;
  private readonly lastSaved: Int32Array;
  /** For each tensor of the source, its latest counterpart, and the storage of that counterpart. */
  private readonly tensorFor: Int32Array;
  private readonly tensorStorage: Int32Array;
  /** For each save of the source, its counterpart. */
  private readonly saveFor: Int32Array;
  /** For each call, the rows of the module events where its forward pass begins and ends. */
  private readonly enterRow: Int32Array;
  private readonly exitRow: Int32Array;
  /** Calls that are running again. */
  private readonly replayed: number[] = [];

  constructor(trace: Trace, note: string) {
    this.trace = trace;
    this.copy = new TraceCopy(trace, [note]);
    const none = (count: number): Int32Array => new Int32Array(count).fill(-1);
    this.first = none(trace.storages.count);
    this.lastSaved = none(trace.storages.count);
    this.tensorFor = none(trace.tensors.count);
    this.tensorStorage = none(trace.tensors.count);
    this.saveFor = none(trace.saves.count);
    this.enterRow = none(trace.calls.count);
    this.exitRow = none(trace.calls.count);
    const { events, moduleEvents } = trace;
    for (let event = 0; event < events.count; event++) {
      const kind = events.kind[event];
      const eventRow = events.subject[event];
      if (kind !== EventKind.enterModule && kind !== EventKind.exitModule) continue;
      if (moduleEvents.phase[eventRow] === Phase.forward)
        (kind === EventKind.enterModule ? this.enterRow : this.exitRow)[moduleEvents.call[eventRow]] = eventRow;
    }
  }

  build(): Trace {
    const { weights, truncated } = this.trace;
    const owned = (tensors: Int32Array): number[] =>
      Array.from(tensors, (tensor) => this.tensorOn(tensor, this.first[this.trace.tensors.storage[tensor]]));
    for (let i = 0; i < weights.count; i++)
      this.copy.builder.moduleWeights(
        weights.module[i],
        owned(row(weights.parameters, i)),
        owned(row(weights.buffers, i)),
      );
    return this.copy.builder.build(truncated);
  }

  made(storage: StorageIndex, instance: number): void {
    const { storages, strings } = this.trace;
    this.sourceOf[instance] = storage;
    this.storageOf[instance] = this.copy.builder.allocate(
      storages.bytes[storage],
      strings[storages.device[storage]],
      storages.category[storage],
    );
    if (this.first[storage] < 0) this.first[storage] = this.storageOf[instance];
  }

  released(instance: number): void {
    this.copy.builder.free(this.storageOf[instance]);
    this.storageOf[instance] = -1;
  }

  resized(instance: number, bytes: number): void {
    this.copy.builder.resize(this.storageOf[instance], bytes);
  }

  ran(op: OpIndex, instances: Int32Array, isReplay: boolean): void {
    this.copy.op(op, {
      inputs: this.tensors(this.trace.opInputs(op), instances),
      outputs: this.tensors(this.trace.opOutputs(op), instances),
      ...(isReplay && { phase: Phase.recompute }),
    });
  }

  saved(save: number, instance: number): void {
    if (instance < 0) return;
    const { saves } = this.trace;
    this.lastSaved[this.sourceOf[instance]] = instance;
    this.saveFor[save] = this.copy.builder.saveCount;
    this.copy.builder.save(this.storageOf[instance], this.copy.latestOf(saves.op[save]), saves.as[save]);
  }

  unpacked(save: number): void {
    if (this.saveFor[save] >= 0) this.copy.builder.unpack(this.saveFor[save]);
  }

  unsaved(save: number): void {
    if (this.saveFor[save] >= 0) this.copy.builder.unsave(this.saveFor[save]);
  }

  entered(call: CallIndex, instances: Int32Array, isReplay: boolean): void {
    if (isReplay) this.replayed.push(call);
    const tensors = this.tensorsOf(this.enterRow[call], instances);
    this.copy.builder.enterModule(call, isReplay ? Phase.recompute : Phase.forward, tensors);
  }

  exited(call: CallIndex, instances: Int32Array, isReplay: boolean): void {
    // Recomputation stops at the last tensor that is needed, possibly inside nested calls.
    while (isReplay && this.replayed.at(-1) !== call) this.exited(this.replayed.at(-1)!, instances, true);
    if (isReplay) this.replayed.pop();
    const tensors = this.tensorsOf(this.exitRow[call], instances);
    this.copy.builder.exitModule(call, isReplay ? Phase.recompute : Phase.forward, tensors);
  }

  passed(event: number, instances: Int32Array): void {
    const { events, moduleEvents, strings } = this.trace;
    const { builder } = this.copy;
    const item = events.subject[event];
    const value = events.value[event];
    switch (events.kind[event]) {
      case EventKind.categorize: {
        const storage = this.standsFor(item, instances);
        if (storage >= 0) builder.categorize(storage, value);
        break;
      }
      case EventKind.enterModule:
      case EventKind.exitModule: {
        const isEntry = events.kind[event] === EventKind.enterModule;
        const tensors = this.tensorsOf(item, instances);
        if (isEntry) builder.enterModule(moduleEvents.call[item], moduleEvents.phase[item], tensors);
        else builder.exitModule(moduleEvents.call[item], moduleEvents.phase[item], tensors);
        break;
      }
      case EventKind.enterScope:
        builder.enterScope(item);
        break;
      case EventKind.exitScope:
        builder.exitScope(item);
        break;
      case EventKind.mark:
        builder.mark(strings[item]);
        break;
    }
  }

  private tensorsOf(eventRow: number, instances: Int32Array): number[] {
    return eventRow < 0 ? [] : this.tensors(row(this.trace.moduleEvents.tensors, eventRow), instances);
  }

  /** Returns the counterparts of the source's `tensors`. Tensors that are no longer alive are left out. */
  private tensors(tensors: Int32Array, instances: Int32Array): number[] {
    const here: number[] = [];
    for (const tensor of tensors) {
      const storage = this.standsFor(this.trace.tensors.storage[tensor], instances);
      if (storage >= 0) here.push(this.tensorOn(tensor, storage));
    }
    return here;
  }

  private tensorOn(tensor: TensorIndex, storage: StorageIndex): number {
    const { trace, tensorFor, tensorStorage } = this;
    if (tensorStorage[tensor] !== storage) {
      tensorStorage[tensor] = storage;
      tensorFor[tensor] = this.copy.builder.tensor({
        storage,
        dtype: trace.tensorDtype(tensor),
        shape: trace.tensorShape(tensor),
        strides: strides(trace, tensor),
      });
    }
    return tensorFor[tensor];
  }

  /**
   * Returns the counterpart of the source's `storage`: the program's own storage or, after the program released that,
   * the one that autograd saved.
   */
  private standsFor(storage: StorageIndex, instances: Int32Array): number {
    for (const instance of [instances[storage], this.lastSaved[storage]])
      if (instance >= 0 && this.storageOf[instance] >= 0) return this.storageOf[instance];
    return -1;
  }
}

function strides({ tensors }: Trace, tensor: TensorIndex): readonly number[] | undefined {
  const given = row(tensors.strides, tensor);
  return given.length === 0 ? undefined : Array.from(given);
}
