import { readMemoryEvents } from "@remat/memory";
import { addsTensors } from "@remat/runtime-estimator/aten";
import {
  type CallIndex,
  EventKind,
  type OpIndex,
  Phase,
  row,
  type StorageIndex,
  type TensorIndex,
  type Trace,
} from "@remat/trace";
import { callsWithInputGradients, isOver } from "./ended-calls.js";
import { getOrInsert } from "./get-or-insert.js";
import { oncePerTrace } from "./once-per-trace.js";

/** A backward pass of a wrapped module that is still running. */
interface OpenPass {
  readonly call: number;
  /** The number of storages allocated before it began. */
  readonly began: number;
  /** The storages that it received when it began. */
  readonly given: ReadonlySet<number>;
}

/**
 * Returns the additions of gradients that FSDP delays, by op, each with the call whose backward pass it waits for.
 *
 * If a wrapped module shares an input with other modules, autograd adds the gradients of that input. On one device, the
 * addition runs as soon as the second gradient is computed. FSDP inserts an autograd node of its own, so the addition
 * runs when the module's backward pass is over.
 */
function lateAdditions(trace: Trace, wrapped: ReadonlySet<number>): ReadonlyMap<number, number> {
  return getOrInsert(knownAdditions(trace), [...wrapped].join(), () => findLateAdditions(trace, wrapped));
}

/** The delayed additions of a trace, by the wrapped modules. */
const knownAdditions = oncePerTrace(() => new Map<string, ReadonlyMap<number, number>>());

function findLateAdditions(trace: Trace, wrapped: ReadonlySet<number>): ReadonlyMap<number, number> {
  const late = new Map<number, number>();
  const { call: calls, phase, tensors } = trace.moduleEvents;
  /** For each storage, how many were allocated before it. */
  const madeAt = new Int32Array(trace.storages.count).fill(-1);
  let made = 0;
  const storagesOf = (eventRow: number): Set<number> =>
    new Set(Array.from(row(tensors, eventRow), (tensor) => trace.tensors.storage[tensor]));
  const given = new Map<number, ReadonlySet<number>>();
  /** For each call of a wrapped module, the shapes of the inputs that it returns unchanged. */
  const passed = new Map<number, ReadonlySet<string>>();
  const ending = callsWithInputGradients(trace);
  let open: OpenPass[] = [];
  readMemoryEvents(trace, {
    allocate(storage) {
      madeAt[storage] = made++;
    },
    op(op) {
      const pair = open.length === 0 ? undefined : addends(trace, op);
      if (pair === undefined) return;
      const [a, b] = pair;
      const of = open.find((pass) => isOutside(a, pass) !== isOutside(b, pass) && !passesOn(pass, op));
      if (of !== undefined) late.set(op, of.call);
    },
    other(kind, item) {
      if (kind === EventKind.enterModule) enter(item);
      else if (kind === EventKind.exitModule) exit(item);
    },
  });
  return late;

  function enter(eventRow: number): void {
    const call = calls[eventRow];
    const isWrapped = wrapped.has(trace.calls.module[call]);
    if (phase[eventRow] === Phase.backward) {
      open = open.filter((pass) => !isOver(trace, pass.call, call));
      if (isWrapped && ending.has(call)) open.push({ call, began: made, given: storagesOf(eventRow) });
    } else if (isWrapped && phase[eventRow] === Phase.forward) given.set(call, storagesOf(eventRow));
  }

  function exit(eventRow: number): void {
    const call = calls[eventRow];
    const inputs = given.get(call);
    if (phase[eventRow] === Phase.backward) open = open.filter((pass) => pass.call !== call);
    else if (phase[eventRow] === Phase.forward && inputs !== undefined) {
      const returned = Array.from(row(tensors, eventRow)).filter((tensor) => inputs.has(trace.tensors.storage[tensor]));
      passed.set(call, new Set(returned.map((tensor) => trace.tensorShape(tensor).join())));
    }
  }

  function isOutside(storage: StorageIndex, pass: OpenPass): boolean {
    return madeAt[storage] < pass.began && !pass.given.has(storage);
  }

  /**
   * Returns whether a call returns an input of this shape unchanged, so that its incoming gradient also belongs to that
   * input.
   */
  function passesOn(pass: OpenPass, op: OpIndex): boolean {
    const shape = trace.tensorShape(trace.opOutputs(op)[0]).join();
    return passed.get(pass.call)?.has(shape) === true;
  }
}

/** Returns the two storages that autograd adds into a new one. */
function addends(trace: Trace, op: OpIndex): readonly [number, number] | undefined {
  if (trace.ops.phase[op] !== Phase.backward || !addsTensors(trace.opName(op))) return undefined;
  const [a, b, more] = trace.opInputs(op);
  const [out] = trace.opOutputs(op);
  if (b === undefined || out === undefined || more !== undefined) return undefined;
  const { storage } = trace.tensors;
  if (storage[a] === storage[b] || storage[out] === storage[a] || storage[out] === storage[b]) return undefined;
  const shape = trace.tensorShape(out).join();
  if (trace.tensorShape(a).join() !== shape || trace.tensorShape(b).join() !== shape) return undefined;
  return [storage[a], storage[b]];
}

interface LateAddition {
  readonly op: number;
  readonly addends: readonly number[];
  readonly sum: number;
  /** The addends that the source has freed by now. */
  readonly freed: number[];
}

/** Delays additions until they are requested, together with their addends. */
export class LateAdditions {
  private readonly trace: Trace;
  private readonly callOf: ReadonlyMap<number, number>;
  private readonly sums: ReadonlySet<number>;
  private readonly waiting = new Map<number, LateAddition[]>();

  constructor(trace: Trace, wrapped: ReadonlySet<number>) {
    this.trace = trace;
    this.callOf = lateAdditions(trace, wrapped);
    this.sums = new Set(Array.from(this.callOf.keys(), (op) => storageOf(trace, trace.opOutputs(op)[0])));
  }

  /** Returns whether a delayed addition creates a storage. */
  makes(storage: StorageIndex): boolean {
    return this.sums.has(storage);
  }

  /** Returns whether an op must be delayed. If so, also delays it from then on. */
  holds(op: OpIndex): boolean {
    const call = this.callOf.get(op);
    if (call === undefined) return false;
    const { trace } = this;
    const addends = Array.from(trace.opInputs(op), (tensor) => storageOf(trace, tensor));
    const late = { op, addends, sum: storageOf(trace, trace.opOutputs(op)[0]), freed: [] };
    this.waiting.set(call, [...(this.waiting.get(call) ?? []), late]);
    return true;
  }

  /** Returns whether a storage that the source frees must stay, because it is still to be added. */
  holdsFree(storage: StorageIndex): boolean {
    for (const additions of this.waiting.values())
      for (const { addends, freed } of additions)
        if (addends.includes(storage)) {
          freed.push(storage);
          return true;
        }
    return false;
  }

  /** Returns whether additions are delayed now. */
  get isWaiting(): boolean {
    return this.waiting.size > 0;
  }

  /** Returns the calls whose delayed sums are needed now. */
  neededBy(storages: Iterable<StorageIndex>): readonly number[] {
    const needed = new Set(storages);
    return [...this.waiting].flatMap(([call, late]) => (late.some(({ sum }) => needed.has(sum)) ? [call] : []));
  }

  /**
   * Returns the additions that waited for the end of a call's backward pass, in order. Without a call it returns those
   * of all calls.
   */
  take(call?: CallIndex): readonly LateAddition[] {
    if (this.waiting.size === 0) return [];
    const taken = call === undefined ? [...this.waiting.values()].flat() : (this.waiting.get(call) ?? []);
    if (call === undefined) this.waiting.clear();
    else this.waiting.delete(call);
    return taken;
  }
}

function storageOf(trace: Trace, tensor: TensorIndex): number {
  return trace.tensors.storage[tensor];
}
