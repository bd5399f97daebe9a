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

/** A moment of a trace: after op `op`, after event `event` (both counted from 0), or at the first mark of that name. */
export type MomentPlace = { readonly op: number } | { readonly event: number } | { readonly mark: string };

export interface MomentOptions {
  /** Left out: the device that the trace is about. */
  readonly device?: string;
  /** How many storages to list; left out: 10. */
  readonly limit?: number;
  /** Categories of storages that overrule the trace's. */
  readonly categories?: ReadonlyMap<number, number>;
}

/** Who made a storage: the op that allocated it, and where it ran. Undefined for what was there before, or came from outside. */
export interface StorageMaker {
  readonly op: number;
  readonly opName: string;
  readonly phase: string;
  /** Innermost module; undefined outside every module. */
  readonly module: string | undefined;
}

/** A storage that is alive at a moment. */
export interface HeldStorage {
  readonly storage: number;
  /** As allocated. */
  readonly bytes: number;
  readonly category: CategoryName;
  /** Of the tensor that first showed it; undefined if none did. */
  readonly dtype: string | undefined;
  readonly shape: readonly number[] | undefined;
  readonly maker: StorageMaker | undefined;
  /** The innermost module of whose weights it is one, by name; undefined for what is no module's. */
  readonly owner: string | undefined;
  /** Of the scratch of the op that runs, all of which is one row: in how many storages it is; `storage` is the largest of them. */
  readonly scratchPieces?: number;
}

/** What a device holds at a moment, and who put it there. Bytes as allocated. */
export interface MemoryMoment {
  /** The event after which, or within which, this is so. */
  readonly event: number;
  /** The op that runs, or ran last. Undefined before the first. */
  readonly at: StorageMaker | undefined;
  readonly device: string;
  readonly totalBytes: number;
  /** Categories that hold something. */
  readonly bytesByCategory: Readonly<Partial<Record<CategoryName, number>>>;
  /** How many storages of the device are alive and hold something, each piece of scratch counted. */
  readonly storageCount: number;
  /** The largest of them, largest first; scratch is one. */
  readonly largest: readonly HeldStorage[];
}

/**
 * Returns what is on a device at a moment of `trace`: totals by category, and the largest storages with the op and module that made each.
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
 * Returns what is held at a peak, with the largest storages, who made each, and where. Reached inside an op, it is that moment inside.
 *
 * @param peak of this trace, see `heldPeak`
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
 * Returns what `options.device` (left out: the one that the trace is about) holds at its peak, with the largest storages.
 *
 * @throws RematError `TRACE_EVENT_ORDER`
 */
export function peakMoment(trace: Trace, options: MomentOptions = {}): MemoryMoment {
  return momentOfPeak(trace, heldPeak(trace, options.device), options);
}

/** Describes the largest of what is held when all events before `end` have happened. */
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

/** More are quicker sorted. */
const mostInserted = 100;

/** Returns the `limit` largest of `count` rows, the first of equal ones first: of the few that are asked for without sorting all, which would take longer than everything else. */
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
