import { type CategoryName, EventKind, type OpIndex, opEventPositions, type Trace } from "@remat/trace";
import { DeviceRows } from "./device-rows.js";
import { HeldMemory, type HeldPeak } from "./held-memory.js";
import { makerOfStorage } from "./maker-of-storage.js";
import { isTurn, readMemoryEvents } from "./memory-events.js";

/**
 * Every non-empty storage that is alive on a device at one moment, in columns, sorted by number. Sizes are rounded up
 * to the allocation unit.
 */
export interface HeldStorages {
  readonly device: string;
  /** The event after which, or during which, the storages are alive. */
  readonly event: number;
  /** The op that runs, or ran last. It is -1 before the first. */
  readonly op: number;
  /** Bytes of all these storages. */
  readonly totalBytes: number;
  /** The categories that are not empty. */
  readonly bytesByCategory: Readonly<Partial<Record<CategoryName, number>>>;
  /** The number of storages, which is the length of each column. */
  readonly count: number;
  /** Index of the storage in the trace. */
  readonly storage: Int32Array;
  /** Size of the storage in bytes. */
  readonly bytes: Float64Array;
  /** Index into `categoryNames`. */
  readonly category: Uint8Array;
  /** The op that created it, or -1 if it existed before or no op created it. */
  readonly maker: Int32Array;
  /** 1 for scratch memory of the running op. */
  readonly isScratch: Uint8Array;
}

/** Options for listing storages. */
export interface HeldStoragesOptions {
  /** The device to read. Default: the device that the trace is about. */
  readonly device?: string;
  /** Categories by storage that override those of the trace. */
  readonly categories?: ReadonlyMap<number, number>;
}

/**
 * Returns every storage that is alive at a peak. If the peak is inside an op, this is the state at that moment.
 *
 * @param peak a peak of this trace
 * @throws RematError `TRACE_EVENT_ORDER`
 * @example
 * storagesAtPeak(trace, heldPeak(trace)).bytes.reduce((sum, bytes) => sum + bytes, 0); // heldPeak(trace).peakBytes
 */
export function storagesAtPeak(
  trace: Trace,
  peak: Pick<HeldPeak, "device" | "event">,
  options: Pick<HeldStoragesOptions, "categories"> = {},
): HeldStorages {
  const { device, event } = peak;
  if (event >= trace.events.count) return storagesHeld(trace, event - 1, event, { ...options, device });
  return storagesHeld(trace, event, isTurn(trace, event) ? event : event + 1, { ...options, device });
}

/**
 * Returns every storage that is alive at the end of an op.
 *
 * @throws RematError `TRACE_EVENT_ORDER`
 */
export function storagesAfterOp(trace: Trace, op: OpIndex, options: HeldStoragesOptions = {}): HeldStorages {
  const event = opEventPositions(trace)[op];
  return storagesHeld(trace, event, event + 1, options);
}

/**
 * Returns the live storages after all events before `end`. `event` is the last of these events, or the next one.
 * @internal
 */
export function storagesHeld(trace: Trace, event: number, end: number, options: HeldStoragesOptions): HeldStorages {
  const device = options.device ?? trace.header.device;
  const account = new HeldMemory();
  for (const [storage, category] of options.categories ?? []) account.override([storage], category);
  account.take(trace, end);
  const { storages } = account;
  const lastOp = account.nextOp - 1;
  const index = storages.devices.indexOf(device);
  const all = new Int32Array(trace.storages.count);
  let count = 0;
  for (let s = 0; s < all.length; s++)
    if (storages.isAlive(s) && storages.device[s] === index && storages.bytes[s] > 0) all[count++] = s;
  const storage = all.slice(0, count);
  const runs = end === event && lastOp + 1 < trace.ops.count ? lastOp + 1 : lastOp;
  const inner = runs > lastOp ? freedBeforeOp(trace, end) : new Set<number>();
  const rows = DeviceRows.of(storages);
  // Loops are fast enough for large steps, which have tens of thousands of storages at every op that is inspected.
  const [bytes, category, maker] = [new Float64Array(count), new Uint8Array(count), new Int32Array(count)];
  const isScratch = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    const s = storage[i];
    bytes[i] = storages.bytes[s];
    category[i] = storages.category[s];
    isScratch[i] = inner.has(s) && storages.op[s] === runs ? 1 : 0;
    maker[i] = isScratch[i] === 1 ? runs : makerOfStorage(trace, s, storages.op[s]);
  }
  return {
    device,
    event,
    op: runs,
    totalBytes: rows.totalBytes(index),
    bytesByCategory: rows.byCategory(index),
    count,
    storage,
    bytes,
    category,
    maker,
    isScratch,
  };
}

/** Returns the storages that are freed between `event` and the event of the next op. That op itself frees them. */
function freedBeforeOp(trace: Trace, event: number): ReadonlySet<number> {
  const freed = new Set<number>();
  const { kind, count } = trace.events;
  let end = event;
  while (end < count && kind[end] !== EventKind.op) end++;
  readMemoryEvents(trace, { free: (storage) => void freed.add(storage) }, event, end);
  return freed;
}
