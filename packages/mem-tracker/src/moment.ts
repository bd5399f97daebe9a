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
import { LiveStorages, totalColumn } from "./live-storages.js";

/** A moment of a trace: after op `op`, after event `event` (both counted from 0), or at the first mark of that name. */
export type MomentPlace = { readonly op: number } | { readonly event: number } | { readonly mark: string };

export interface MomentOptions {
  /** Left out: the device that the trace is about. */
  readonly device?: string;
  /** How many storages to list; left out: 10. */
  readonly limit?: number;
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
  /** How many storages of the device are alive and hold something. */
  readonly storageCount: number;
  /** The largest of them, largest first. */
  readonly largest: readonly HeldStorage[];
}

/**
 * What is on a device at a moment of `trace`: totals by category, and the largest storages with the op and module that made each.
 *
 * @throws RematError `MEMORY_NO_SUCH_MOMENT`, `TRACE_EVENT_ORDER`
 * @example
 * momentAt(trace, { op: 120 }).largest[0].maker?.module;
 */
export function momentAt(trace: Trace, place: MomentPlace, options: MomentOptions = {}): MemoryMoment {
  return momentIn(trace, place, options, new Map());
}

/** {@link momentAt} with categories of storages that overrule the trace's. @internal */
export function momentIn(
  trace: Trace,
  place: MomentPlace,
  options: MomentOptions,
  overrides: ReadonlyMap<number, number>,
): MemoryMoment {
  const device = options.device ?? trace.header.device;
  const { event, before } = eventOf(trace, place);
  const storages = new LiveStorages();
  const { kind, subject, value } = trace.events;
  // A peak inside an op is seen just before something is freed: that event itself is then not yet done.
  const end = before && (kind[event] === EventKind.free || kind[event] === EventKind.resize) ? event : event + 1;
  let lastOp = -1;
  for (let i = 0; i < end; i++) {
    const item = subject[i];
    if (kind[i] === EventKind.op) lastOp = item;
    else if (kind[i] === EventKind.allocate) {
      storages.allocate(trace, item, overrides.get(item) ?? trace.storages.category[item], i, lastOp + 1);
    } else if (kind[i] === EventKind.free) storages.free(item, i);
    else if (kind[i] === EventKind.resize) storages.resize(item, value[i], i);
    else if (kind[i] === EventKind.categorize && !overrides.has(item)) storages.categorize(item, value[i], i);
  }
  const deviceIndex = storages.devices.indexOf(device);
  const held: number[] = [];
  for (let s = 0; s < trace.storages.count; s++)
    if (storages.isAlive(s) && storages.device[s] === deviceIndex && storages.bytes[s] > 0) held.push(s);
  held.sort((a, b) => storages.bytes[b] - storages.bytes[a] || a - b);
  const largest = held.slice(0, options.limit ?? 10);
  const firstTensor = firstTensors(trace, largest);
  const rows = DeviceRows.of(storages);
  const row = rows.rows[rows.devices.indexOf(deviceIndex)];
  const runs = end === event && lastOp + 1 < trace.ops.count ? lastOp + 1 : lastOp;
  const inner = runs > lastOp ? freedBeforeOp(trace, end) : new Set<number>();
  return {
    event,
    at: runs < 0 ? undefined : makerOf(trace, runs),
    device,
    totalBytes: row?.[totalColumn] ?? 0,
    bytesByCategory: Object.fromEntries(
      categoryNames.flatMap((name, i) => (row !== undefined && row[i] !== 0 ? [[name, row[i]]] : [])),
    ),
    storageCount: held.length,
    largest: largest.map((storage) => {
      const tensor = firstTensor.get(storage);
      return {
        storage,
        bytes: storages.bytes[storage],
        category: categoryNames[storages.category[storage]],
        dtype: tensor === undefined ? undefined : trace.tensorDtype(tensor),
        shape: tensor === undefined ? undefined : trace.tensorShape(tensor),
        maker:
          inner.has(storage) && storages.op[storage] === runs
            ? makerOf(trace, runs)
            : allocatorOf(trace, storage, storages.op[storage]),
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
  const { kind, subject, count } = trace.events;
  for (let i = event; i < count && kind[i] !== EventKind.op; i++) if (kind[i] === EventKind.free) freed.add(subject[i]);
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
