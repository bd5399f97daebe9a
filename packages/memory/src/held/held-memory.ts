import { type CategoryName, EventKind, type OpIndex, type StorageIndex, type Trace } from "@remat/trace";
import { DeviceRows } from "./device-rows.js";
import { LiveStorages, rowWidth, totalColumn } from "./live-storages.js";

/** The moment at which a device holds most, first reached. */
export interface HeldPeak {
  readonly device: string;
  /** As allocated. */
  readonly peakBytes: number;
  /** The event at which this is so: the op's own, or within an op the first at which something goes; the number of events for the end. */
  readonly event: number;
  /** The op that runs then, or ran last; -1 for a trace without ops. */
  readonly op: number;
  /** Categories that hold something. */
  readonly bytesByCategory: Readonly<Partial<Record<CategoryName, number>>>;
}

/** Told while events are taken in, in the order in which they happen. */
export interface HeldMemoryListener {
  /** Something is about to go, or to change its size, and more is held than when this was last told, or an op ended. */
  turning?(): void;
  freeing?(storage: StorageIndex): void;
  categorized?(storage: StorageIndex, was: number): void;
  op?(op: OpIndex): void;
  /** Any event that says nothing of memory: `kind` of `EventKind`, with its columns. */
  other?(kind: number, subject: number, value: number, event: number): void;
}

/**
 * The account of what a trace holds: which storages are alive on which device, in which category, at which size, and the most that each device
 * has held. Takes events in as they come; everything that says what a run held reads it.
 *
 * The most is looked for where an op ends, and within an op before anything goes: what an op allocates and frees inside itself counts.
 *
 * @example
 * const held = new HeldMemory();
 * held.take(trace);
 * held.peak("cuda:0")?.peakBytes;
 */
export class HeldMemory {
  readonly storages: LiveStorages = new LiveStorages();
  /** The op whose event comes next. */
  nextOp = 0;
  /** How many events have been taken in. */
  position = 0;
  private readonly overrides = new Map<number, number>();
  private readonly highest = new DeviceRows();
  /** By device: where its most was held. */
  private readonly highestAt: { readonly event: number; readonly op: number }[] = [];
  /** Whether more was allocated since the most was last looked for. */
  private grew = false;
  private readonly listener: HeldMemoryListener;

  constructor(listener: HeldMemoryListener = {}) {
    this.listener = listener;
  }

  /**
   * Takes in the events of `trace` that were not taken in before, up to `to`. Each trace must extend the one before.
   *
   * @throws RematError `TRACE_EVENT_ORDER`
   */
  take(trace: Trace, to: number = trace.events.count): void {
    const { storages, overrides, listener } = this;
    const { kind, subject, value } = trace.events;
    for (; this.position < to; this.position++) {
      const event = this.position;
      const item = subject[event];
      switch (kind[event]) {
        case EventKind.op:
          this.look(item);
          this.nextOp = item + 1;
          listener.op?.(item);
          break;
        case EventKind.allocate:
          storages.allocate(trace, item, overrides.get(item) ?? trace.storages.category[item], event, this.nextOp);
          this.grew = true;
          break;
        case EventKind.free:
          if (this.grew) this.turn(trace);
          listener.freeing?.(item);
          storages.free(item, event);
          break;
        case EventKind.resize:
          if (this.grew) this.turn(trace);
          storages.resize(item, value[event], event);
          this.grew = true;
          break;
        case EventKind.categorize: {
          if (overrides.has(item)) break;
          const was = storages.isAlive(item) ? storages.category[item] : value[event];
          storages.categorize(item, value[event], event);
          listener.categorized?.(item, was);
          break;
        }
        default:
          listener.other?.(kind[event], item, value[event], event);
      }
    }
  }

  /** Makes `storages` count as `category` from now on, whatever the trace says, also those that are allocated later. */
  override(storages: Iterable<StorageIndex>, category: number): void {
    for (const storage of storages) {
      this.overrides.set(storage, category);
      if (this.storages.isAlive(storage)) this.storages.categorize(storage, category, this.position);
    }
  }

  /** The categories that overrule the trace's, by storage. */
  get overridden(): ReadonlyMap<number, number> {
    return this.overrides;
  }

  /** Returns where and when `device` held most; where it never held anything, 0 bytes now. */
  peak(device: string): HeldPeak {
    const { storages, highest } = this;
    const index = storages.devices.indexOf(device);
    const rows = this.peakRows();
    const peakBytes = rows.totalBytes(index);
    const at =
      peakBytes > highest.totalBytes(index) || this.highestAt[index] === undefined
        ? { event: this.position, op: this.nextOp - 1 }
        : this.highestAt[index];
    return { device, peakBytes, ...at, bytesByCategory: rows.byCategory(index) };
  }

  /** Returns the most that each device has held, by category. */
  peakRows(): DeviceRows {
    const { storages } = this;
    const rows = this.highest.clone();
    for (const device of storages.present)
      if (rows.totalBytes(device) < storages.totals[device * rowWidth + totalColumn]) rows.copy(storages, device);
    return rows;
  }

  private turn(trace: Trace): void {
    this.look(Math.min(this.nextOp, trace.ops.count - 1));
    this.listener.turning?.();
  }

  /** Compares what is held now, while `op` runs, with the most. */
  private look(op: OpIndex): void {
    this.grew = false;
    const { storages, highest } = this;
    const { present, totals } = storages;
    for (let i = 0; i < present.length; i++) {
      const device = present[i];
      if (highest.totalBytes(device) >= totals[device * rowWidth + totalColumn]) continue;
      highest.copy(storages, device);
      this.highestAt[device] = { event: this.position, op };
    }
  }
}

/**
 * Returns when `device` (left out: the one that the trace is about) holds most, and what; where it never holds anything, 0 bytes at the end.
 *
 * @throws RematError `TRACE_EVENT_ORDER`
 * @example
 * heldPeak(trace).peakBytes; // what the step needs as it was recorded
 */
export function heldPeak(trace: Trace, device: string = trace.header.device): HeldPeak {
  const held = new HeldMemory();
  held.take(trace);
  return held.peak(device);
}

/**
 * Returns what devices other than the one that the trace is about hold when that one holds most, in bytes by device: what no plan of the
 * step's memory counts.
 */
export function heldElsewhere(trace: Trace): ReadonlyMap<string, number> {
  const held = new HeldMemory();
  held.take(trace, heldPeak(trace).event);
  const { devices, totals, present } = held.storages;
  return new Map(
    present
      .filter((device) => devices[device] !== trace.header.device)
      .map((device) => [devices[device], totals[device * rowWidth + totalColumn]]),
  );
}
