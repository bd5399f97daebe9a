import { type CategoryName, categoryNames, type Trace } from "@remat/trace";
import { HeldMemory, type HeldPeak } from "./held-memory.js";
import { rowWidth, totalColumn } from "./live-storages.js";

/** Options for {@link memoryTimeline}. */
export interface TimelineOptions {
  /** The device to read. Default: the device that the trace is about. */
  readonly device?: string;
  /** The positions of points: after each op, or after each event. Default: `op`. */
  readonly at?: "op" | "event";
}

/**
 * Live bytes on one device over a trace, with sizes rounded up to the allocation unit. All columns have one entry per
 * point.
 */
export interface MemoryTimeline {
  readonly device: string;
  /** The number of points. */
  readonly count: number;
  /** The event that the point follows. */
  readonly event: Int32Array;
  /** The last op before the point, or -1 before the first. */
  readonly op: Int32Array;
  /** Bytes in use at the point. */
  readonly totalBytes: Float64Array;
  /**
   * The highest memory in use since the previous point, so that a peak inside an op is included. For the last point, it
   * also covers the rest of the trace.
   */
  readonly highestBytes: Float64Array;
  /** The categories that occur. */
  readonly bytesByCategory: ReadonlyMap<CategoryName, Float64Array>;
  /** The peak. */
  readonly peak: HeldPeak;
}

/**
 * Returns the live bytes by category over time.
 *
 * @throws RematError `TRACE_EVENT_ORDER`
 * @example
 * const { totalBytes, bytesByCategory } = memoryTimeline(trace);
 */
export function memoryTimeline(trace: Trace, options: TimelineOptions = {}): MemoryTimeline {
  const device = options.device ?? trace.header.device;
  const perEvent = options.at === "event";
  const count = perEvent ? trace.events.count : trace.ops.count;
  const event = new Int32Array(count);
  const op = new Int32Array(count);
  const totalBytes = new Float64Array(count);
  const highestBytes = new Float64Array(count);
  const columns = categoryNames.map((): Float64Array | undefined => undefined);
  let point = 0;
  let highest = 0;
  let deviceRow = -1;
  const total = (): number => {
    if (deviceRow < 0) deviceRow = held.storages.devices.indexOf(device) * rowWidth;
    return deviceRow < 0 ? 0 : held.storages.totals[deviceRow + totalColumn];
  };
  const raise = (): void => void (highest = Math.max(highest, total()));
  const mark = (atEvent: number, lastOp: number): void => {
    raise();
    event[point] = atEvent;
    op[point] = lastOp;
    totalBytes[point] = total();
    highestBytes[point] = highest;
    highest = total();
    if (deviceRow >= 0)
      for (let c = 0; c < columns.length; c++) {
        const bytes = held.storages.totals[deviceRow + c];
        if (bytes !== 0) (columns[c] ??= new Float64Array(count))[point] = bytes;
      }
    point++;
  };
  const held: HeldMemory = new HeldMemory(perEvent ? {} : { turning: raise, op: (item) => mark(held.position, item) });
  if (perEvent)
    for (let at = 0; at < count; at++) {
      held.take(trace, at + 1);
      mark(at, held.nextOp - 1);
    }
  else held.take(trace);
  raise();
  if (point > 0) highestBytes[point - 1] = Math.max(highestBytes[point - 1], highest);
  const bytesByCategory = new Map<CategoryName, Float64Array>();
  columns.forEach((column, c) => {
    if (column !== undefined) bytesByCategory.set(categoryNames[c], column);
  });
  return { device, count, event, op, totalBytes, highestBytes, bytesByCategory, peak: held.peak(device) };
}

/**
 * Returns the first point with the highest memory in use, or -1 if there are no points. In a timeline of ops it is the
 * op of the peak.
 */
export function peakOp({ highestBytes }: Pick<MemoryTimeline, "highestBytes">): number {
  let peak = highestBytes.length > 0 ? 0 : -1;
  for (let op = 1; op < highestBytes.length; op++) if (highestBytes[op] > highestBytes[peak]) peak = op;
  return peak;
}
