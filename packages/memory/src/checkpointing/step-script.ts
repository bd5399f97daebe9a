import { EventKind, FsdpHook, Phase, RematError, row, type StorageIndex, type Trace } from "@remat/trace";
import { roundUpBytes, unitBytesByName } from "../allocators/device-units.js";
import { scratchOps } from "../held/maker-of-storage.js";
import { readMemoryEvents } from "../held/memory-events.js";
import { Act } from "./act.js";
import { type BackwardPasses, readBackwardPasses } from "./backward-passes.js";

/**
 * A step as it was recorded, as what holds its storages: who refers to them, and what autograd saves, reads and gives back. From it follows what
 * is held when some of it is not saved and runs again. @internal
 */
export interface StepScript extends BackwardPasses {
  readonly trace: Trace;
  readonly count: number;
  /** {@link Act}. */
  readonly act: Uint8Array;
  readonly subject: Int32Array;
  /** By storage: what it counts for on the trace's device. */
  readonly bytes: Float64Array;
  /** By save. */
  readonly savedStorage: Int32Array;
  /** By storage: the op that makes it, or -1. */
  readonly maker: Int32Array;
  /** By storage: the op inside of which alone it lives, or -1. */
  readonly scratchOf: Int32Array;
  /** By module call: the places of its forward pass, `enter` and `exit`; -1 where it has none. */
  readonly enter: Int32Array;
  readonly exit: Int32Array;
  /** By save: the place where autograd gives it back, or -1. */
  readonly unsavedAt: Int32Array;
  /** Calls that return tensors in no container that PyTorch knows, as an object of a class of their own; none if the trace does not say what calls return. */
  readonly returningNoTensors: ReadonlySet<number>;
  /** By place where a storage is resized: what it counts for from there on. */
  readonly resizedTo: ReadonlyMap<number, number>;
}

/**
 * Reads a step for {@link StepScript}.
 *
 * @throws RematError `TRACE_SAVES` for a trace that does not say when saved tensors are read and given back
 * @internal
 */
export function stepScript(trace: Trace): StepScript {
  return scriptOf(trace, false);
}

/** Reads a step as {@link stepScript} does, with all that makes no difference to what is held. @internal */
export function wholeScript(trace: Trace): StepScript {
  return scriptOf(trace, true);
}

/** The calls whose forward pass begins with a hook of FSDP, and is entered before it. */
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
        // FSDP gathers the weights before `forward` runs, so a second run of `forward` does not gather them.
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
 * Tells whether a trace says when autograd reads and gives back what it saved: without that nobody knows what `torch.utils.checkpoint` would hold. A program may
 * keep its graph beyond the step, so that nothing of it is given back.
 */
export function tellsSaves({ events }: Trace): boolean {
  return events.kind.includes(EventKind.unpack) || events.kind.includes(EventKind.unsave);
}

/** By storage: the op that makes it, which is the first to meet it, and does so as an output. */
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

/** What bytes of a storage count for on the trace's device. */
function sizesOnDevice(trace: Trace): (storage: StorageIndex, bytes: number) => number {
  const { storages, strings, header } = trace;
  const units = unitBytesByName(trace);
  return (storage, bytes) => {
    const device = storages.device[storage];
    return strings[device] === header.device ? roundUpBytes(bytes, units[device]) : 0;
  };
}

/** By storage, the event by which nothing but autograd refers to it; where that comes after its first reading, when it is freed. -1 for never. */
function lastReferences(trace: Trace, maker: Int32Array): Int32Array {
  const { storages, saves } = trace;
  if (!tellsSaves(trace))
    throw new RematError(
      "TRACE_SAVES",
      `the trace of '${trace.header.model ?? "a model"}' has ${saves.count} saved tensors and does not say when the backward pass gives them back, so that nobody can tell what checkpointing would hold. Record it again, with the recorder of this version.`,
    );
  const last = new Int32Array(storages.count).fill(-1);
  const isRead = new Uint8Array(storages.count);
  const savedOnly = new Int32Array(storages.count).fill(-1);
  // Whoever resizes a storage holds it.
  readMemoryEvents(trace, { resize: (storage) => void (isRead[storage] = 1) });
  readMemoryEvents(trace, {
    free: (storage, event) => void (last[storage] = savedOnly[storage] >= 0 ? savedOnly[storage] : event),
    other(kind, item, _value, event) {
      if (kind === EventKind.unpack) isRead[saves.storage[item]] = 1;
      else if (kind === EventKind.savedOnly && isRead[item] === 0 && maker[item] >= 0) savedOnly[item] = event;
    },
  });
  // Of a graph that the program keeps beyond the step nothing is freed.
  savedOnly.forEach((event, storage) => {
    if (last[storage] < 0) last[storage] = event;
  });
  return last;
}
