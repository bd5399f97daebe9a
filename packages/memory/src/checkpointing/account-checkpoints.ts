import {
  type CategoryName,
  categoryNames,
  EventKind,
  type OpIndex,
  opEventPositions,
  type StorageIndex,
  type Trace,
} from "@remat/trace";
import { allocatedSizes } from "../allocators/device-units.js";
import type { HeldStorages } from "../held/held-storages.js";
import { makerOfStorage, scratchOps } from "../held/maker-of-storage.js";
import { readMemoryEvents } from "../held/memory-events.js";
import type { SequenceAccount } from "../sequence/account-sequence.js";
import type { CheckpointObserver } from "./checkpoint-observer.js";
import type { CheckpointPolicy } from "./checkpoint-policy.js";
import type { CheckpointableSteps } from "./checkpointable-steps.js";

/**
 * Returns the memory of a step under `policy`, by ops and storages of the step without checkpointing. Memory in use
 * while ops run again counts for the op that comes next. The numbers are the same as those of `memoryTimeline` for a
 * trace from `CheckpointedSteps`.
 *
 * @example
 * accountCheckpoints(new CheckpointableSteps(trace), policy).highestBytes; // by op of `trace`
 */
export function accountCheckpoints(steps: CheckpointableSteps, policy: CheckpointPolicy): SequenceAccount {
  return new CheckpointedAccount(steps, policy);
}

class CheckpointedAccount implements SequenceAccount {
  readonly count: number;
  readonly totalBytes: Float64Array;
  readonly highestBytes: Float64Array;
  readonly bytesByCategory: ReadonlyMap<CategoryName, Float64Array>;
  readonly peakBytes: number;
  readonly peakOp: number;
  readonly recomputations: Uint16Array;
  private readonly steps: CheckpointableSteps;
  private readonly policy: CheckpointPolicy;
  private readonly sizes: Float64Array;
  /** The number of storages made before the peak was reached. */
  private readonly peakMade: number;
  private known: Makers | undefined;

  constructor(steps: CheckpointableSteps, policy: CheckpointPolicy) {
    const { trace } = steps;
    const { ops, storages, strings, header } = trace;
    this.steps = steps;
    this.policy = policy;
    this.count = ops.count;
    this.sizes = allocatedSizes(trace).map((bytes, s) => (strings[storages.device[s]] === header.device ? bytes : 0));
    this.totalBytes = new Float64Array(ops.count);
    this.highestBytes = new Float64Array(ops.count);
    this.recomputations = new Uint16Array(ops.count);
    const columns = categoryNames.map((): Float64Array | undefined => undefined);
    let [peakBytes, peakOp, peakMade, highest] = [0, -1, 0, 0];
    let isPending = false;
    const held: HeldInstances = new HeldInstances(trace, this.sizes, {
      made: () => {
        highest = Math.max(highest, held.bytes);
        if (held.bytes <= peakBytes) return;
        [peakBytes, peakMade, isPending] = [held.bytes, held.madeCount, true];
      },
      ran: (op, isReplay) => {
        if (isReplay) return void this.recomputations[op]++;
        if (isPending) [peakOp, isPending] = [op, false];
        this.totalBytes[op] = held.bytes;
        this.highestBytes[op] = highest;
        highest = held.bytes;
        held.byCategory.forEach((bytes, c) => {
          if (bytes !== 0) (columns[c] ??= new Float64Array(ops.count))[op] = bytes;
        });
      },
    });
    steps.simulate(policy, held);
    if (ops.count > 0) this.highestBytes[ops.count - 1] = Math.max(this.highestBytes[ops.count - 1], highest);
    const found = new Map<CategoryName, Float64Array>();
    columns.forEach((column, c) => column && found.set(categoryNames[c], column));
    this.bytesByCategory = found;
    this.peakBytes = peakBytes;
    this.peakOp = isPending ? ops.count - 1 : peakOp;
    this.peakMade = peakMade;
  }

  /** Simulates the step again up to `op` and lists the live storages. */
  heldAt(op: OpIndex): HeldStorages {
    const { steps, sizes, peakMade, peakOp } = this;
    const { trace } = steps;
    let live: readonly (readonly [storage: number, category: number])[] = [];
    const held: HeldInstances = new HeldInstances(trace, sizes, {
      made: () => {
        if (op < 0 && held.madeCount === peakMade) live = held.list();
      },
      ran: (each, isReplay) => {
        if (each === op && !isReplay) live = held.list();
      },
    });
    steps.simulate(this.policy, held);
    const { maker, scratchOf } = (this.known ??= makersOf(trace));
    const byCategory: Partial<Record<CategoryName, number>> = {};
    for (const [storage, category] of live) {
      const name = categoryNames[category];
      byCategory[name] = (byCategory[name] ?? 0) + sizes[storage];
    }
    const at = op < 0 ? peakOp : op;
    return {
      device: trace.header.device,
      event: at < 0 ? -1 : opEventPositions(trace)[at],
      op: at,
      totalBytes: live.reduce((sum, [storage]) => sum + sizes[storage], 0),
      bytesByCategory: byCategory,
      count: live.length,
      storage: Int32Array.from(live, ([storage]) => storage),
      bytes: Float64Array.from(live, ([storage]) => sizes[storage]),
      category: Uint8Array.from(live, ([, category]) => category),
      maker: Int32Array.from(live, ([storage]) => Math.max(maker[storage], scratchOf[storage])),
      isScratch: Uint8Array.from(live, ([storage]) => (scratchOf[storage] >= 0 ? 1 : 0)),
    };
  }
}

interface HeldListener {
  made(): void;
  ran(op: OpIndex, isReplay: boolean): void;
}

/** Tracks the live memory while a step is simulated. */
class HeldInstances implements CheckpointObserver {
  bytes = 0;
  madeCount = 0;
  readonly byCategory: Float64Array = new Float64Array(categoryNames.length);
  private readonly trace: Trace;
  private readonly sizes: Float64Array;
  private readonly listener: HeldListener;
  /** For each live instance: its storage, category and bytes. */
  private readonly live = new Map<number, readonly [storage: number, category: number, bytes: number]>();
  /** For each storage, the instance that autograd saved last. */
  private readonly lastSaved = new Map<number, number>();
  private readonly storageOf: number[] = [];

  constructor(trace: Trace, sizes: Float64Array, listener: HeldListener) {
    this.trace = trace;
    this.sizes = sizes;
    this.listener = listener;
  }

  /** The live storages, sorted by number. */
  list(): (readonly [storage: number, category: number])[] {
    return [...this.live.values()]
      .filter(([, , bytes]) => bytes > 0)
      .map(([storage, category]) => [storage, category] as const)
      .sort(([a], [b]) => a - b);
  }

  made(storage: StorageIndex, instance: number): void {
    this.storageOf[instance] = storage;
    this.madeCount++;
    this.hold(instance, storage, this.trace.storages.category[storage], this.sizes[storage]);
    this.listener.made();
  }

  released(instance: number): void {
    this.drop(instance);
  }

  resized(instance: number, bytes: number): void {
    const [storage, category] = this.drop(instance)!;
    this.hold(instance, storage, category, bytes);
  }

  ran(op: OpIndex, _instances: Int32Array, isReplay: boolean): void {
    this.listener.ran(op, isReplay);
  }

  saved(_save: number, instance: number): void {
    if (instance >= 0) this.lastSaved.set(this.storageOf[instance], instance);
  }

  passed(event: number, instances: Int32Array): void {
    const { kind, subject, value } = this.trace.events;
    if (kind[event] !== EventKind.categorize) return;
    const storage = subject[event];
    const instance = [instances[storage], this.lastSaved.get(storage) ?? -1].find((each) => this.live.has(each));
    if (instance === undefined) return;
    const [, , bytes] = this.drop(instance)!;
    this.hold(instance, storage, value[event], bytes);
  }

  unpacked(): void {}
  unsaved(): void {}
  entered(): void {}
  exited(): void {}

  private hold(instance: number, storage: StorageIndex, category: number, bytes: number): void {
    this.live.set(instance, [storage, category, bytes]);
    this.bytes += bytes;
    this.byCategory[category] += bytes;
  }

  private drop(instance: number): readonly [storage: number, category: number, bytes: number] | undefined {
    const held = this.live.get(instance);
    if (held === undefined) return undefined;
    const [, category, bytes] = held;
    this.live.delete(instance);
    this.bytes -= bytes;
    this.byCategory[category] -= bytes;
    return held;
  }
}

/** For each storage: the op that creates it, and the op whose scratch memory it is, or -1 for none. */
interface Makers {
  readonly maker: Int32Array;
  readonly scratchOf: Int32Array;
}

function makersOf(trace: Trace): Makers {
  const maker = new Int32Array(trace.storages.count).fill(-1);
  let next = 0;
  readMemoryEvents(trace, {
    op: (op) => (next = op + 1),
    allocate: (storage) => (maker[storage] = makerOfStorage(trace, storage, next)),
  });
  return { maker, scratchOf: scratchOps(trace) };
}
