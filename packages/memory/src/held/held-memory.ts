import { type CategoryName, EventKind, type OpIndex, type StorageIndex, type Trace } from "@remat/trace";
import { DeviceRows } from "./device-rows.js";
import { LiveStorages, rowWidth, totalColumn } from "./live-storages.js";

/** The first moment with the highest memory in use on a device. */
export interface HeldPeak {
  readonly device: string;
  /** Peak memory in bytes, with sizes rounded up to the allocation unit. */
  readonly peakBytes: number;
  /**
   * The event of the peak: the event of the op, or, for a peak inside an op, the first event that frees memory. At the
   * end of the trace it is the number of events.
   */
  readonly event: number;
  /** The op that runs at the peak, or ran last. It is -1 for a trace without ops. */
  readonly op: number;
  /** The categories that are not empty. */
  readonly bytesByCategory: Readonly<Partial<Record<CategoryName, number>>>;
}

/** Receives events while they are processed, in the order in which they happen. */
export interface HeldMemoryListener {
  /** Called before a storage is freed or resized, if memory has grown since the last call or the last op. */
  turning?(): void;
  /** Called before a storage is freed. */
  freeing?(storage: StorageIndex): void;
  /** Called after a storage has changed its category. `was` is the category before. */
  categorized?(storage: StorageIndex, was: number): void;
  /** Called when an op runs. */
  op?(op: OpIndex): void;
  /** Called for any event that does not concern memory. `kind` is an `EventKind`, with the columns of the event. */
  other?(kind: number, subject: number, value: number, event: number): void;
}

/**
 * Tracks the memory of a trace: which storages are alive on which device, in which category and at which size, and the
 * peak of each device. Processes events as they come. Everything that reports the memory of a run uses this class.
 *
 * The peak is updated at the end of each op, and inside an op before memory is freed. Memory that an op allocates and
 * frees itself therefore counts.
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
  /** The number of events processed. */
  position = 0;
  private readonly overrides = new Map<number, number>();
  private readonly highest = new DeviceRows();
  /** For each device, the place of its peak. */
  private readonly highestAt: { readonly event: number; readonly op: number }[] = [];
  /** True if memory was allocated since the peak was last updated. */
  private grew = false;
  private readonly listener: HeldMemoryListener;

  constructor(listener: HeldMemoryListener = {}) {
    this.listener = listener;
  }

  /**
   * Processes the events of `trace` that have not been processed yet, up to `to`. Each trace must extend the previous
   * one.
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

  /**
   * Assigns `storages` to `category` from now on, overriding the trace. This includes storages that are allocated
   * later.
   */
  override(storages: Iterable<StorageIndex>, category: number): void {
    for (const storage of storages) {
      this.overrides.set(storage, category);
      if (this.storages.isAlive(storage)) this.storages.categorize(storage, category, this.position);
    }
  }

  /** The categories that override those of the trace, by storage. */
  get overridden(): ReadonlyMap<number, number> {
    return this.overrides;
  }

  /** Returns the peak of `device`, or 0 bytes at the current position if the device never had memory in use. */
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

  /** Returns the peak of each device, by category. */
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

  /** Compares the memory in use while `op` runs with the peak. */
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
 * Returns the peak of `device`, by default the device that the trace is about. If nothing is ever allocated on it, the
 * peak is 0 bytes at the end.
 *
 * @throws RematError `TRACE_EVENT_ORDER`
 * @example
 * heldPeak(trace).peakBytes; // peak memory of the step as it was recorded
 */
export function heldPeak(trace: Trace, device: string = trace.header.device): HeldPeak {
  const held = new HeldMemory();
  held.take(trace);
  return held.peak(device);
}

/**
 * Returns the memory on other devices at the peak of the trace's device, in bytes by device. Plans for the step do not
 * count this memory.
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
