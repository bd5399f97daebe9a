import { readMemoryEvents } from "@remat/memory";
import { Category, EventKind, OpFlag, Phase, row, type Trace, TraceCopy } from "@remat/trace";
import { planError } from "./sharding-plan.js";

/**
 * A run whose steps each take several micro-batches: the forward and the backward pass again and again, each of the recorded batch, before the update. Gradients of later passes are added
 * to those of the first, and given back; what else a pass leaves behind, such as its loss, goes before the next.
 *
 * @param passes how many, at least 1
 * @throws RematError `SHARDING_PLAN` for a run that accumulates already
 */
export function accumulatedRun(trace: Trace, passes: number): Trace {
  if (passes === 1) return trace;
  const copy = new AccumulatedCopy(trace);
  let from = 0;
  for (const { begin, end } of passesOf(trace)) {
    copy.write(from, end);
    const left = copy.leftBy(begin, end);
    for (let pass = 1; pass < passes; pass++) copy.again(begin, end, left);
    from = end;
  }
  copy.write(from, trace.events.count);
  return copy.build(passes);
}

interface Pass {
  /** Events: the first of the forward pass, and the first after the backward pass. */
  readonly begin: number;
  readonly end: number;
}

/** Where forward and backward passes are: from where the outermost module begins to what comes after the last op of the backward pass. */
function passesOf({ header, ops, events, moduleEvents, calls }: Trace): readonly Pass[] {
  const found: Pass[] = [];
  let begin = -1;
  let end = -1;
  const close = (): void => {
    if (begin >= 0 && end > begin) found.push({ begin, end });
    begin = end = -1;
  };
  for (let event = 0; event < events.count; event++) {
    const item = events.subject[event];
    if (events.kind[event] === EventKind.enterModule) {
      const isOutermost = calls.parent[moduleEvents.call[item]] < 0 && moduleEvents.phase[item] === Phase.forward;
      if (!isOutermost) continue;
      if (end >= 0)
        throw planError(
          `the run of '${header.model ?? "a model"}' has several backward passes in a step already; micro-batches= is for one that was recorded with one.`,
        );
      if (begin < 0) begin = event;
    } else if (events.kind[event] === EventKind.op) {
      const phase = ops.phase[item];
      if (phase === Phase.optimizer) close();
      else if (begin >= 0 && (phase === Phase.backward || phase === Phase.recompute)) end = event + 1;
    } else if (end === event && isAfterOp(events.kind[event])) end = event + 1;
  }
  close();
  return found;
}

/** What an op leaves to be done belongs to its pass. */
function isAfterOp(kind: number): boolean {
  return kind !== EventKind.mark && kind !== EventKind.allocate;
}

class AccumulatedCopy {
  private readonly trace: Trace;
  private readonly copy: TraceCopy;
  /** By storage, tensor, save and call of the source: the latest that stands for it; by tensor also the storage that this is on. */
  private readonly storageFor: Int32Array;
  private readonly tensorFor: Int32Array;
  private readonly tensorStorage: Int32Array;
  private readonly saveFor: Int32Array;
  private readonly callFor: Int32Array;
  private readonly isLive = new Set<number>();
  /** Gradients that are made as such, to be added once the op is over, each with what it is added to. */
  private readonly accumulating: (readonly [storage: number, to: number])[] = [];
  private readonly firstTensor: Int32Array;
  private lastStack = 0;
  private passes = 1;

  constructor(trace: Trace) {
    this.trace = trace;
    this.copy = new TraceCopy(trace, []);
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

  build(passes: number): Trace {
    const { weights, truncated, header } = this.trace;
    const owned = (tensors: Int32Array): number[] =>
      Array.from(tensors, (tensor) => this.tensorOn(tensor)).filter((tensor) => tensor >= 0);
    for (let i = 0; i < weights.count; i++)
      this.copy.builder.moduleWeights(
        weights.module[i],
        owned(row(weights.parameters, i)),
        owned(row(weights.buffers, i)),
      );
    const note = `Simulated with ${passes} micro-batches a step, each of the recorded batch.`;
    return this.copy.builder.build(truncated).withHeader({ ...header, notes: [...(header.notes ?? []), note] });
  }

  /** What is allocated between two events and alive after them: gradients of parameters, and others. */
  leftBy(begin: number, end: number): ReadonlyMap<number, "gradient" | "other"> {
    const left = new Map<number, "gradient" | "other">();
    readMemoryEvents(
      this.trace,
      {
        allocate: (storage) =>
          void left.set(storage, this.trace.storages.category[storage] === Category.gradient ? "gradient" : "other"),
        categorize: (storage, category) => {
          if (left.has(storage) && category === Category.gradient) left.set(storage, "gradient");
        },
        free: (storage) => void left.delete(storage),
      },
      begin,
      end,
    );
    return left;
  }

  /** Writes a pass once more. */
  again(begin: number, end: number, left: ReadonlyMap<number, "gradient" | "other">): void {
    const held = new Map<number, number>();
    for (const [storage, kind] of left) {
      if (kind === "gradient") held.set(storage, this.storageFor[storage]);
      else this.free(storage);
    }
    this.passes++;
    this.callFor.fill(-1);
    this.write(begin, end, held);
    for (const [storage, own] of held) this.storageFor[storage] = own;
  }

  /** `held`: gradients that are there already, to which those of this pass are added. */
  write(begin: number, end: number, held: ReadonlyMap<number, number> = new Map()): void {
    const { trace, copy } = this;
    const { events, moduleEvents, storages, strings, saves } = trace;
    const { builder } = copy;
    for (let event = begin; event < end; event++) {
      const item = events.subject[event];
      const value = events.value[event];
      switch (events.kind[event]) {
        case EventKind.op:
          this.op(item);
          break;
        case EventKind.allocate: {
          const category = storages.category[item];
          const isGradient = held.has(item) && category === Category.gradient;
          this.storageFor[item] = builder.allocate(storages.bytes[item], strings[storages.device[item]], category);
          this.isLive.add(this.storageFor[item]);
          if (isGradient) this.accumulating.push([item, held.get(item)!]);
          break;
        }
        case EventKind.free:
          this.free(item);
          break;
        case EventKind.resize:
          if (this.storageFor[item] >= 0) builder.resize(this.storageFor[item], value);
          break;
        case EventKind.categorize:
          if (!this.isLive.has(this.storageFor[item])) break;
          builder.categorize(this.storageFor[item], value);
          if (value === Category.gradient && held.has(item)) this.accumulate(item, held.get(item)!);
          break;
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
          builder.save(storage, copy.latestOf(saves.op[item]), saves.as[item]);
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
  }

  private op(op: number): void {
    const { trace, copy } = this;
    const stack = this.stackOf(op);
    copy.op(op, {
      inputs: this.tensors(trace.opInputs(op)),
      outputs: this.tensors(trace.opOutputs(op)),
      stack,
    });
    this.lastStack = stack;
    for (const [storage, to] of this.accumulating.splice(0)) this.accumulate(storage, to);
  }

  /** Adds a gradient to that of the passes before, and gives it back. */
  private accumulate(storage: number, to: number): void {
    const { trace, copy } = this;
    const [sum, added] = [to, this.storageFor[storage]].map((on) =>
      copy.builder.tensor({
        storage: on,
        dtype: trace.tensorDtype(this.firstTensor[storage]),
        shape: trace.tensorShape(this.firstTensor[storage]),
      }),
    );
    copy.builder.op({
      name: trace.header.framework === "pytorch" ? "aten.add_.Tensor" : "Add",
      phase: Phase.backward,
      flags: OpFlag.inPlace,
      stack: this.lastStack,
      inputs: [sum, added],
      outputs: [sum],
    });
    this.free(storage);
  }

  private free(storage: number): void {
    const here = this.storageFor[storage];
    if (this.isLive.delete(here)) this.copy.builder.free(here);
  }

  /** The call that stands for `call`: another one in each pass. */
  private call(call: number): number {
    if (this.callFor[call] < 0) {
      const { module, parent, tensorInput } = this.trace.calls;
      const around = parent[call] < 0 ? -1 : this.call(parent[call]);
      this.callFor[call] = this.copy.builder.call(module[call], around, tensorInput[call] === 1);
    }
    return this.callFor[call];
  }

  private stackOf(op: number): number {
    if (this.passes === 1) return this.trace.ops.stack[op];
    return this.copy.builder.stack(Array.from(this.trace.opCalls(op), (call) => this.call(call)));
  }

  private eventTensors(eventRow: number): number[] {
    return this.tensors(row(this.trace.moduleEvents.tensors, eventRow));
  }

  private tensors(tensors: Int32Array): number[] {
    return Array.from(tensors, (tensor) => this.tensorOn(tensor)).filter((tensor) => tensor >= 0);
  }

  /** The tensor that stands for `tensor`; -1 where its storage has no counterpart. */
  private tensorOn(tensor: number): number {
    const { trace, tensorFor, tensorStorage } = this;
    const storage = this.storageFor[trace.tensors.storage[tensor]];
    if (storage >= 0 && tensorStorage[tensor] !== storage) {
      tensorStorage[tensor] = storage;
      tensorFor[tensor] = this.copy.builder.tensor({
        storage,
        dtype: trace.tensorDtype(tensor),
        shape: trace.tensorShape(tensor),
      });
    }
    return storage < 0 ? -1 : tensorFor[tensor];
  }
}
