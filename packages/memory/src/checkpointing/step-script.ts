import { EventKind, FsdpHook, Phase, RematError, row, type StorageIndex, type Trace } from "@remat/trace";
import { roundUpBytes, unitBytesByName } from "../allocators/device-units.js";
import { scratchOps } from "../held/maker-of-storage.js";
import { readMemoryEvents } from "../held/memory-events.js";
import { Act } from "./act.js";
import { type BackwardPasses, readBackwardPasses } from "./backward-passes.js";

/**
 * A recorded step reduced to the events that keep its storages alive: references from the program, and saving, reading
 * and releasing by autograd. It determines the memory in use if some tensors are recomputed instead of saved.
 * @internal
 */
export interface StepScript extends BackwardPasses {
  readonly trace: Trace;
  readonly count: number;
  /** One of {@link Act}. */
  readonly act: Uint8Array;
  readonly subject: Int32Array;
  /** For each storage, its size on the trace's device. */
  readonly bytes: Float64Array;
  /** For each save, its storage. */
  readonly savedStorage: Int32Array;
  /** For each storage, the op that makes it, or -1. */
  readonly maker: Int32Array;
  /** For each storage, the op whose scratch memory it is, or -1. */
  readonly scratchOf: Int32Array;
  /** For each module call, the places where its forward pass begins and ends, or -1 if it has none. */
  readonly enter: Int32Array;
  readonly exit: Int32Array;
  /** For each save, the place where autograd releases it, or -1. */
  readonly unsavedAt: Int32Array;
  /**
   * Calls that return tensors only inside objects that PyTorch does not inspect, such as instances of a user's class.
   * Empty if the trace does not record what calls return.
   */
  readonly returningNoTensors: ReadonlySet<number>;
  /** For each place where a storage is resized, its new size on the trace's device. */
  readonly resizedTo: ReadonlyMap<number, number>;
}

/**
 * Reads the script of a step.
 *
 * @throws RematError `TRACE_SAVES` for a trace that does not record when saved tensors are read and released
 * @internal
 */
export function stepScript(trace: Trace): StepScript {
  return scriptOf(trace, false);
}

/** Reads the script of a step with all events, including those that do not affect memory. @internal */
export function wholeScript(trace: Trace): StepScript {
  return scriptOf(trace, true);
}

/** Finds the calls whose forward pass begins with a hook of FSDP, if the calls are entered before the hook. */
function callsInHooks({ events, moduleEvents }: Trace): ReadonlySet<number> {
  const found = new Set<number>();
  for (let event = 0; event < events.count; event++) {
    const row = events.subject[event];
    if (events.kind[event] !== EventKind.fsdpHook || events.value[event] !== FsdpHook.preForwardEnd) continue;
    if (moduleEvents.phase[row] === Phase.forward) found.add(moduleEvents.call[row]);
  }
  return found;
}

function scriptOf(trace: Trace, isWhole: boolean): StepScript {
  const { saves, moduleEvents, calls } = trace;
  const maker = makers(trace);
  const unreferred = lastReferences(trace, maker);
  const act: number[] = [];
  const subject: number[] = [];
  const enter = new Int32Array(calls.count).fill(-1);
  const exit = new Int32Array(calls.count).fill(-1);
  const unsavedAt = new Int32Array(saves.count).fill(-1);
  const returning = new Set<number>();
  const returningNoTensors = new Set<number>();
  const resizedTo = new Map<number, number>();
  const sizeOnDevice = sizesOnDevice(trace);
  const sharded = callsInHooks(trace);
  const push = (kind: number, item: number): void => {
    act.push(kind);
    subject.push(item);
  };
  const leave = (storage: StorageIndex, event: number): void => {
    if (unreferred[storage] === event) push(Act.unrefer, storage);
  };
  const tell = (event: number): void => {
    if (isWhole) push(Act.event, event);
  };
  readMemoryEvents(trace, {
    allocate: (storage) => push(Act.make, storage),
    categorize: (_storage, _category, event) => tell(event),
    free: leave,
    resize(storage, bytes) {
      resizedTo.set(act.length, sizeOnDevice(storage, bytes));
      push(Act.resize, storage);
    },
    op: (op) => push(Act.op, op),
    other(kind, item, value, event) {
      if (kind === EventKind.save) push(Act.save, item);
      else if (kind === EventKind.unpack) push(Act.unpack, item);
      else if (kind === EventKind.unsave) {
        unsavedAt[item] = act.length;
        push(Act.unsave, item);
      } else if (kind === EventKind.savedOnly) leave(item, event);
      else if (kind === EventKind.enterModule || kind === EventKind.exitModule) {
        if (moduleEvents.phase[item] !== Phase.forward) return tell(event);
        const call = moduleEvents.call[item];
        const isEntry = kind === EventKind.enterModule;
        if (!isEntry) (row(moduleEvents.tensors, item).length > 0 ? returning : returningNoTensors).add(call);
        // FSDP all-gathers the weights before `forward` runs, so a second run of `forward` does not gather them.
        if (isEntry && sharded.has(call)) return tell(event);
        (isEntry ? enter : exit)[call] = act.length;
        push(isEntry ? Act.enter : Act.exit, call);
      } else {
        tell(event);
        if (kind !== EventKind.fsdpHook || value !== FsdpHook.preForwardEnd) return;
        const call = moduleEvents.call[item];
        if (moduleEvents.phase[item] !== Phase.forward || enter[call] >= 0) return;
        enter[call] = act.length;
        push(Act.enter, call);
      }
    },
  });
  return {
    trace,
    count: act.length,
    act: Uint8Array.from(act),
    subject: Int32Array.from(subject),
    ...readBackwardPasses({ act, subject, phaseOf: trace.ops.phase }),
    bytes: trace.storages.bytes.slice(0, trace.storages.count).map((bytes, storage) => sizeOnDevice(storage, bytes)),
    savedStorage: saves.storage,
    maker,
    scratchOf: scratchOps(trace),
    enter,
    exit,
    unsavedAt,
    returningNoTensors: returning.size > 0 ? returningNoTensors : new Set(),
    resizedTo,
  };
}

/**
 * Returns whether a trace records when autograd reads and releases saved tensors. Without that, memory under
 * `torch.utils.checkpoint` cannot be predicted. Reads alone are enough, because a program may keep its graph beyond the
 * step and release nothing.
 */
export function tellsSaves({ events }: Trace): boolean {
  return events.kind.includes(EventKind.unpack) || events.kind.includes(EventKind.unsave);
}

/**
 * Returns, for each storage, the op that creates it: the first op that uses it, if the storage is an output of that op.
 */
function makers(trace: Trace): Int32Array {
  const maker = new Int32Array(trace.storages.count).fill(-1);
  const isMet = new Uint8Array(trace.storages.count);
  for (let op = 0; op < trace.ops.count; op++) {
    for (const tensor of trace.opInputs(op)) for (const storage of trace.tensorStorages(tensor)) isMet[storage] = 1;
    for (const tensor of trace.opOutputs(op))
      for (const storage of trace.tensorStorages(tensor)) {
        if (isMet[storage] === 0) maker[storage] = op;
        isMet[storage] = 1;
      }
  }
  return maker;
}

/** Returns a function for the size of a storage on the trace's device. The size is 0 on other devices. */
function sizesOnDevice(trace: Trace): (storage: StorageIndex, bytes: number) => number {
  const { storages, strings, header } = trace;
  const units = unitBytesByName(trace);
  return (storage, bytes) => {
    const device = storages.device[storage];
    return strings[device] === header.device ? roundUpBytes(bytes, units[device]) : 0;
  };
}

/**
 * Returns, for each storage, the event after which only autograd refers to it. If autograd reads it before that, it is
 * the event that frees the storage. -1 for never.
 */
function lastReferences(trace: Trace, maker: Int32Array): Int32Array {
  const { storages, saves } = trace;
  if (!tellsSaves(trace))
    throw new RematError(
      "TRACE_SAVES",
      `the trace of '${trace.header.model ?? "a model"}' does not show when the backward pass frees its ${saves.count} saved tensors, so checkpointing cannot be predicted. Record it again with this version of remat.`,
    );
  const last = new Int32Array(storages.count).fill(-1);
  const isRead = new Uint8Array(storages.count);
  const savedOnly = new Int32Array(storages.count).fill(-1);
  // The code that resizes a storage refers to it.
  readMemoryEvents(trace, { resize: (storage) => void (isRead[storage] = 1) });
  readMemoryEvents(trace, {
    free: (storage, event) => void (last[storage] = savedOnly[storage] >= 0 ? savedOnly[storage] : event),
    other(kind, item, _value, event) {
      if (kind === EventKind.unpack) isRead[saves.storage[item]] = 1;
      else if (kind === EventKind.savedOnly && isRead[item] === 0 && maker[item] >= 0) savedOnly[item] = event;
    },
  });
  // Nothing is freed if the program keeps the graph beyond the step.
  savedOnly.forEach((event, storage) => {
    if (last[storage] < 0) last[storage] = event;
  });
  return last;
}
