import {
  type CategoryName,
  categoryNames,
  EventKind,
  type OpIndex,
  opEventPositions,
  phaseNames,
  RematError,
  type StorageIndex,
  type Trace,
} from "@remat/trace";
import { type HeldPeak, heldPeak } from "./held-memory.js";
import { storagesHeld } from "./held-storages.js";
import { isTurn } from "./memory-events.js";
import { weightOwners } from "./weight-owners.js";

/**
 * A moment of a trace: after op `op`, after event `event` (both counted from 0), or at the first mark with that name.
 */
export type MomentPlace = { readonly op: number } | { readonly event: number } | { readonly mark: string };

/** Options for the description of a moment. */
export interface MomentOptions {
  /** The device to read. Default: the device that the trace is about. */
  readonly device?: string;
  /** Number of storages to list. Default: 10. */
  readonly limit?: number;
  /** Categories by storage that override those of the trace. */
  readonly categories?: ReadonlyMap<number, number>;
}

/** The op that allocated a storage, and the place where it ran. */
export interface StorageMaker {
  /** Index of the op in the trace. */
  readonly op: number;
  readonly opName: string;
  readonly phase: string;
  /** The innermost module, or undefined outside of every module. */
  readonly module: string | undefined;
}

/** A storage that is alive at a moment. */
export interface HeldStorage {
  /** Index of the storage in the trace. */
  readonly storage: number;
  /** Size in bytes, rounded up to the allocation unit. */
  readonly bytes: number;
  readonly category: CategoryName;
  /** Dtype of the first tensor on it, or undefined if none exists. */
  readonly dtype: string | undefined;
  /** Shape of the first tensor on it, or undefined if none exists. */
  readonly shape: readonly number[] | undefined;
  /** The op that allocated it, or undefined if it existed before or no op allocated it. */
  readonly maker: StorageMaker | undefined;
  /** Name of the innermost module that has the storage among its weights, or undefined if no module has it. */
  readonly owner: string | undefined;
  /**
   * The number of storages in the scratch memory of the running op, which is shown as one row. `storage` is the largest
   * of them. Left out for other rows.
   */
  readonly scratchPieces?: number;
}

/**
 * The memory in use on a device at one moment, and the ops that allocated it. Sizes are rounded up to the allocation
 * unit.
 */
export interface MemoryMoment {
  /** The event after which, or during which, the memory is in use. */
  readonly event: number;
  /** The op that runs, or ran last. It is undefined before the first. */
  readonly at: StorageMaker | undefined;
  readonly device: string;
  /** Bytes in use in all categories. */
  readonly totalBytes: number;
  /** The categories that are not empty. */
  readonly bytesByCategory: Readonly<Partial<Record<CategoryName, number>>>;
  /** The number of non-empty live storages on the device, counting each piece of scratch memory. */
  readonly storageCount: number;
  /** The largest live storages, in descending order. Scratch memory is one entry. */
  readonly largest: readonly HeldStorage[];
}

/**
 * Returns the memory on a device at a moment of `trace`: totals by category, and the largest storages with the op and
 * module that made each.
 *
 * @throws RematError `MEMORY_NO_SUCH_MOMENT`, `TRACE_EVENT_ORDER`
 * @example
 * momentAt(trace, { op: 120 }).largest[0].maker?.module;
 */
export function momentAt(trace: Trace, place: MomentPlace, options: MomentOptions = {}): MemoryMoment {
  const { event, before } = eventOf(trace, place);
  return describeMoment(trace, event, before && isTurn(trace, event) ? event : event + 1, options);
}

/**
 * Returns the memory at a peak, with the largest storages and the op and module that allocated each. If the peak is
 * inside an op, this is the state at that moment.
 *
 * @param peak a peak of this trace, see `heldPeak`
 * @throws RematError `TRACE_EVENT_ORDER`
 * @example
 * momentOfPeak(trace, heldPeak(trace), { limit: 5 }).largest[0].maker?.module;
 */
export function momentOfPeak(
  trace: Trace,
  { device, event }: Pick<HeldPeak, "device" | "event">,
  options: Omit<MomentOptions, "device"> = {},
): MemoryMoment {
  if (event >= trace.events.count) return describeMoment(trace, event - 1, event, { ...options, device });
  return describeMoment(trace, event, isTurn(trace, event) ? event : event + 1, { ...options, device });
}

/**
 * Returns the memory at the peak of `options.device`, by default the device that the trace is about, with the largest
 * storages.
 *
 * @throws RematError `TRACE_EVENT_ORDER`
 */
export function peakMoment(trace: Trace, options: MomentOptions = {}): MemoryMoment {
  return momentOfPeak(trace, heldPeak(trace, options.device), options);
}

/** Describes the largest live storages after all events before `end`. */
function describeMoment(trace: Trace, event: number, end: number, options: MomentOptions): MemoryMoment {
  const held = storagesHeld(trace, event, end, options);
  const { storage, bytes, category, maker, isScratch, op } = held;
  const scratch: number[] = [];
  for (let i = 0; i < held.count; i++) if (isScratch[i] === 1) scratch.push(i);
  scratch.sort((a, b) => bytes[b] - bytes[a] || a - b);
  const scratchBytes = scratch.reduce((sum, i) => sum + bytes[i], 0);
  const rowBytes = (i: number): number => (i === scratch[0] ? scratchBytes : bytes[i]);
  const largest = largestOf(held.count, options.limit ?? 10, (i) => i === scratch[0] || isScratch[i] === 0, rowBytes);
  const firstTensor = firstTensors(
    trace,
    largest.map((i) => storage[i]),
  );
  const owners = weightOwners(trace);
  return {
    event,
    at: op < 0 ? undefined : makerOf(trace, op),
    device: held.device,
    totalBytes: held.totalBytes,
    bytesByCategory: held.bytesByCategory,
    storageCount: held.count,
    largest: largest.map((i) => {
      const tensor = scratch.length > 1 && isScratch[i] === 1 ? undefined : firstTensor.get(storage[i]);
      return {
        storage: storage[i],
        bytes: rowBytes(i),
        category: categoryNames[category[i]],
        dtype: tensor === undefined ? undefined : trace.tensorDtype(tensor),
        shape: tensor === undefined ? undefined : trace.tensorShape(tensor),
        maker: maker[i] < 0 ? undefined : makerOf(trace, maker[i]),
        owner: owners.get(storage[i]),
        ...(isScratch[i] === 1 && { scratchPieces: scratch.length }),
      };
    }),
  };
}

/** Above this limit sorting is faster. */
const mostInserted = 100;

/**
 * Returns the `limit` largest of `count` rows. Equal rows keep their order. For a small limit it does not sort all
 * rows, since that would take longer than everything else.
 */
function largestOf(
  count: number,
  limit: number,
  isRow: (i: number) => boolean,
  bytesOf: (i: number) => number,
): readonly number[] {
  if (limit > mostInserted)
    return Array.from({ length: count }, (_, i) => i)
      .filter(isRow)
      .sort((a, b) => bytesOf(b) - bytesOf(a) || a - b)
      .slice(0, limit);
  const largest: number[] = [];
  for (let i = 0; i < count && limit > 0; i++) {
    if (!isRow(i) || (largest.length === limit && bytesOf(largest[limit - 1]) >= bytesOf(i))) continue;
    let at = largest.length === limit ? limit - 1 : largest.length;
    for (; at > 0 && bytesOf(largest[at - 1]) < bytesOf(i); at--) largest[at] = largest[at - 1];
    largest[at] = i;
  }
  return largest;
}

function eventOf(trace: Trace, place: MomentPlace): { event: number; before: boolean } {
  if ("event" in place) {
    if (place.event >= 0 && place.event < trace.events.count) return { event: place.event, before: true };
    throw noSuchMoment(`event ${place.event}`, `from 0 to ${trace.events.count - 1}`);
  }
  if ("op" in place) {
    if (place.op >= 0 && place.op < trace.ops.count) return { event: opEventPositions(trace)[place.op], before: false };
    throw noSuchMoment(`op ${place.op}`, `from 0 to ${trace.ops.count - 1}`);
  }
  const marks: string[] = [];
  for (let i = 0; i < trace.events.count; i++) {
    if (trace.events.kind[i] !== EventKind.mark) continue;
    const name = trace.strings[trace.events.subject[i]];
    if (name === place.mark) return { event: i, before: false };
    marks.push(name);
  }
  throw noSuchMoment(`mark ${JSON.stringify(place.mark)}`, `one of ${marks.join(", ") || "(none)"}`);
}

function noSuchMoment(found: string, expected: string): RematError {
  return new RematError("MEMORY_NO_SUCH_MOMENT", `the trace has no ${found}: expected ${expected}.`);
}

function makerOf(trace: Trace, op: OpIndex): StorageMaker {
  return {
    op,
    opName: trace.opName(op),
    phase: phaseNames[trace.ops.phase[op]],
    module: trace.opModule(op)?.fqn,
  };
}

function firstTensors(trace: Trace, storages: readonly StorageIndex[]): ReadonlyMap<number, number> {
  const wanted = new Set(storages);
  const found = new Map<number, number>();
  for (let tensor = 0; tensor < trace.tensors.count && found.size < wanted.size; tensor++)
    for (const storage of trace.tensorStorages(tensor))
      if (wanted.has(storage) && !found.has(storage)) found.set(storage, tensor);
  return found;
}
