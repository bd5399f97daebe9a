import {
  type CategoryName,
  categoryNames,
  EventKind,
  opEventPositions,
  phaseNames,
  RematError,
  type Trace,
} from "@remat/trace";
import { DeviceRows } from "./device-rows.js";
import { HeldMemory, type HeldPeak, heldPeak } from "./held-memory.js";
import { isTurn, readMemoryEvents } from "./memory-events.js";
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

/** What is held when all events before `end` have happened; `event` is the last of them, or the one at hand. */
function describeMoment(trace: Trace, event: number, end: number, options: MomentOptions): MemoryMoment {
  const device = options.device ?? trace.header.device;
  const account = new HeldMemory();
  for (const [storage, category] of options.categories ?? []) account.override([storage], category);
  account.take(trace, end);
  const { storages } = account;
  const lastOp = account.nextOp - 1;
  const deviceIndex = storages.devices.indexOf(device);
  const held: number[] = [];
  for (let s = 0; s < trace.storages.count; s++)
    if (storages.isAlive(s) && storages.device[s] === deviceIndex && storages.bytes[s] > 0) held.push(s);
  const runs = end === event && lastOp + 1 < trace.ops.count ? lastOp + 1 : lastOp;
  const inner = runs > lastOp ? freedBeforeOp(trace, end) : new Set<number>();
  const bytesOf = (storage: number): number => storages.bytes[storage];
  const isLargerFirst = (a: number, b: number): number => bytesOf(b) - bytesOf(a) || a - b;
  const scratch = held.filter((storage) => inner.has(storage) && storages.op[storage] === runs).sort(isLargerFirst);
  const scratchBytes = scratch.reduce((sum, storage) => sum + bytesOf(storage), 0);
  const ofScratch = new Set(scratch);
  const rowBytes = (storage: number): number => (storage === scratch[0] ? scratchBytes : bytesOf(storage));
  const largest = held
    .filter((storage) => storage === scratch[0] || !ofScratch.has(storage))
    .sort((a, b) => rowBytes(b) - rowBytes(a) || a - b)
    .slice(0, options.limit ?? 10);
  const firstTensor = firstTensors(trace, largest);
  const owners = weightOwners(trace);
  const rows = DeviceRows.of(storages);
  return {
    event,
    at: runs < 0 ? undefined : makerOf(trace, runs),
    device,
    totalBytes: rows.totalBytes(deviceIndex),
    bytesByCategory: rows.byCategory(deviceIndex),
    storageCount: held.length,
    largest: largest.map((storage) => {
      const isScratch = ofScratch.has(storage);
      const tensor = scratch.length > 1 && isScratch ? undefined : firstTensor.get(storage);
      return {
        storage,
        bytes: rowBytes(storage),
        category: categoryNames[storages.category[storage]],
        dtype: tensor === undefined ? undefined : trace.tensorDtype(tensor),
        shape: tensor === undefined ? undefined : trace.tensorShape(tensor),
        maker: isScratch ? makerOf(trace, runs) : allocatorOf(trace, storage, storages.op[storage]),
        owner: owners.get(storage),
        ...(isScratch && { scratchPieces: scratch.length }),
      };
    }),
  };
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

/** Storages that are freed between `event` and the next op's event: by the op itself. */
function freedBeforeOp(trace: Trace, event: number): ReadonlySet<number> {
  const freed = new Set<number>();
  const { kind, count } = trace.events;
  let end = event;
  while (end < count && kind[end] !== EventKind.op) end++;
  readMemoryEvents(trace, { free: (storage) => void freed.add(storage) }, event, end);
  return freed;
}

/** The op that was about to end when `storage` was allocated, if it has a result on it. */
function allocatorOf(trace: Trace, storage: number, op: number): StorageMaker | undefined {
  if (op >= trace.ops.count) return undefined;
  for (const tensor of trace.opOutputs(op))
    if (trace.tensorStorages(tensor).includes(storage)) return makerOf(trace, op);
  return undefined;
}

function makerOf(trace: Trace, op: number): StorageMaker {
  return {
    op,
    opName: trace.opName(op),
    phase: phaseNames[trace.ops.phase[op]],
    module: trace.opModule(op)?.fqn,
  };
}

function firstTensors(trace: Trace, storages: readonly number[]): ReadonlyMap<number, number> {
  const wanted = new Set(storages);
  const found = new Map<number, number>();
  for (let tensor = 0; tensor < trace.tensors.count && found.size < wanted.size; tensor++)
    for (const storage of trace.tensorStorages(tensor))
      if (wanted.has(storage) && !found.has(storage)) found.set(storage, tensor);
  return found;
}
