import { categoryNames, EventKind, type Plan, type PlanValue, roundUpBytes, row, type Trace } from "@remat/trace";

/** What is held when a step holds most. */
export interface PeakMemory {
  readonly peakBytes: number;
  /** By name of category; what is 0 is left out. */
  readonly bytesByCategory: Readonly<Record<string, number>>;
}

/**
 * What a trace holds at its peak as recorded, by category.
 *
 * @example
 * recordedPeak(trace).bytesByCategory.activation;
 */
export function recordedPeak(trace: Trace): PeakMemory {
  const { events, header, storages } = trace;
  const held = new HeldByCategory(trace);
  for (let e = 0; e < events.count; e++) {
    const storage = events.subject[e];
    if (events.kind[e] === EventKind.allocate)
      held.resize(storage, roundUpBytes(storages.bytes[storage], header.allocationUnitBytes));
    else if (events.kind[e] === EventKind.resize)
      held.resize(storage, roundUpBytes(events.value[e], header.allocationUnitBytes));
    else if (events.kind[e] === EventKind.free) held.resize(storage, 0);
    else if (events.kind[e] === EventKind.categorize) held.categorize(storage, events.value[e]);
  }
  return held.peak();
}

/**
 * What following `plan` holds at its peak, by category, and when each storage comes and goes: storages come as ops make them, again where
 * ops are recomputed, and go when the plan frees them; what the caller owns goes when the trace frees it.
 *
 * @param plan of that trace: see `findPlanMismatch`
 * @example
 * followedPeak(trace, plan).peakBytes; // plan.predicted.peakBytes
 */
export function followedPeak(trace: Trace, plan: Plan, visit: PlanVisitor = {}): PeakMemory {
  const origins = storageOrigins(trace);
  const held = new HeldByCategory(trace);
  const isHeld = new Uint8Array(trace.storages.count);
  const appear = (storage: number): void => {
    isHeld[storage] = 1;
    held.resize(storage, origins.bytes[storage]);
  };
  const go = (storage: number): void => {
    isHeld[storage] = 0;
    held.resize(storage, 0);
  };
  const sources = plan.sources.map(({ before, ordinal }) => origins.before[before][ordinal]);
  const storagesOf = (value: PlanValue): readonly number[] =>
    "source" in value ? [sources[value.source]] : trace.tensorStorages(row(trace.ops.outputs, value.op)[value.output]);
  plan.steps.forEach(({ op, isRecomputed, free }, step) => {
    if (!isRecomputed) {
      for (const [storage, category] of origins.categorizedBefore[op]) held.categorize(storage, category);
      for (const storage of origins.before[op]) appear(storage);
    }
    for (const tensor of trace.opOutputs(op))
      for (const storage of trace.tensorStorages(tensor)) {
        if (isHeld[storage] === 1) continue;
        appear(storage);
        visit.onMake?.(storage, op, step, isRecomputed);
      }
    held.briefly(origins.scratchBytes[op]);
    for (const value of free)
      for (const storage of storagesOf(value)) {
        // A value's first storage is its own; others of its tensor may be views of what is freed by itself.
        if (isHeld[storage] === 0) continue;
        go(storage);
        visit.onDrop?.(storage, op, step);
      }
    if (!isRecomputed) for (const storage of origins.callersFreedAfter[op]) if (isHeld[storage] === 1) go(storage);
  });
  return held.peak();
}

/** Told of what comes and goes while a plan is followed. */
export interface PlanVisitor {
  onMake?(storage: number, op: number, step: number, isRecomputed: boolean): void;
  onDrop?(storage: number, op: number, step: number): void;
}

interface StorageOrigins {
  /** By storage: the most that it takes, as allocated. */
  readonly bytes: Float64Array;
  /** By op, the storages that appear before it and that no op makes. */
  readonly before: readonly (readonly number[])[];
  /** By op, what it holds at most while it runs of what it makes and frees inside itself, beyond its outputs. */
  readonly scratchBytes: Float64Array;
  readonly categorizedBefore: readonly (readonly (readonly [storage: number, category: number])[])[];
  /** By op, what was there before the first op and is freed after this one. */
  readonly callersFreedAfter: readonly (readonly number[])[];
}

function storageOrigins(trace: Trace): StorageOrigins {
  const { events, storages, header, ops } = trace;
  const lists = <T>(): T[][] => Array.from({ length: ops.count + 1 }, () => []);
  const bytes = Float64Array.from(storages.bytes.subarray(0, storages.count));
  const before = lists<number>();
  const scratchBytes = new Float64Array(ops.count);
  const categorizedBefore = lists<readonly [number, number]>();
  const callersFreedAfter = lists<number>();
  const isFreed = new Uint8Array(storages.count);
  let pending: number[] = [];
  /** What came, and the complement of what went, since the last op. */
  let changes: number[] = [];
  let next = 0;
  const allocatedBytes = (storage: number): number => roundUpBytes(bytes[storage], header.allocationUnitBytes);
  for (let e = 0; e < events.count; e++) {
    const subject = events.subject[e];
    if (events.kind[e] === EventKind.allocate) {
      pending.push(subject);
      changes.push(subject);
    } else if (events.kind[e] === EventKind.resize) bytes[subject] = Math.max(bytes[subject], events.value[e]);
    else if (events.kind[e] === EventKind.categorize) categorizedBefore[next].push([subject, events.value[e]]);
    else if (events.kind[e] === EventKind.free) {
      isFreed[subject] = 1;
      changes.push(~subject);
      if (next > 0) callersFreedAfter[next - 1].push(subject);
    } else if (events.kind[e] === EventKind.op) {
      const made = storagesOfTensors(trace, trace.opOutputs(subject));
      const read = storagesOfTensors(trace, trace.opInputs(subject));
      for (const storage of pending)
        if (isFreed[storage] === 0 && (!made.has(storage) || read.has(storage))) before[subject].push(storage);
      scratchBytes[subject] = scratchOf(changes, made, (storage) => isFreed[storage] === 1, allocatedBytes);
      pending = [];
      changes = [];
      next = subject + 1;
    }
  }
  before[ops.count].push(...pending);
  const callers = new Set(before[0]);
  return {
    bytes: bytes.map((size) => roundUpBytes(size, header.allocationUnitBytes)),
    before,
    scratchBytes,
    categorizedBefore,
    callersFreedAfter: callersFreedAfter.map((list) => list.filter((storage) => callers.has(storage))),
  };
}

/** The most that was held at once of what came for an op, beyond its outputs. */
function scratchOf(
  changes: readonly number[],
  outputs: ReadonlySet<number>,
  isFreed: (storage: number) => boolean,
  bytesOf: (storage: number) => number,
): number {
  const own = new Set<number>();
  let held = 0;
  let most = 0;
  let made = 0;
  for (const change of changes) {
    if (change < 0) {
      if (own.has(~change)) held -= bytesOf(~change);
    } else if (outputs.has(change) || isFreed(change)) {
      own.add(change);
      held += bytesOf(change);
      if (outputs.has(change)) made += bytesOf(change);
      most = Math.max(most, held);
    }
  }
  return Math.max(0, most - made);
}

function storagesOfTensors(trace: Trace, tensors: Int32Array): Set<number> {
  const storages = new Set<number>();
  for (const tensor of tensors) for (const storage of trace.tensorStorages(tensor)) storages.add(storage);
  return storages;
}

/** Bytes held by category, and what they were when the sum was highest. */
class HeldByCategory {
  private readonly bytes: Float64Array;
  private readonly category: Uint8Array;
  private readonly held = new Float64Array(categoryNames.length);
  private total = 0;
  private peakBytes = 0;
  private atPeak = new Float64Array(categoryNames.length);

  constructor({ storages }: Trace) {
    this.bytes = new Float64Array(storages.count);
    this.category = storages.category.slice(0, storages.count);
  }

  resize(storage: number, bytes: number): void {
    const change = bytes - this.bytes[storage];
    this.bytes[storage] = bytes;
    this.held[this.category[storage]] += change;
    this.total += change;
    if (this.total > this.peakBytes) this.remember(0);
  }

  categorize(storage: number, category: number): void {
    this.held[this.category[storage]] -= this.bytes[storage];
    this.category[storage] = category;
    this.held[category] += this.bytes[storage];
  }

  /** An op holds `bytes` more while it runs. */
  briefly(bytes: number): void {
    if (this.total + bytes > this.peakBytes) this.remember(bytes);
  }

  peak(): PeakMemory {
    return {
      peakBytes: this.peakBytes,
      bytesByCategory: Object.fromEntries(
        categoryNames.flatMap((name, category) => (this.atPeak[category] > 0 ? [[name, this.atPeak[category]]] : [])),
      ),
    };
  }

  private remember(brieflyBytes: number): void {
    this.peakBytes = this.total + brieflyBytes;
    this.atPeak = this.held.slice();
    this.atPeak[categoryNames.indexOf("temporary")] += brieflyBytes;
  }
}
