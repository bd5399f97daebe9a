import { type CategoryName, categoryNames, EventKind, type Trace } from "@remat/trace";
import { LiveStorages, rowWidth, totalColumn } from "./live-storages.js";

export interface TimelineOptions {
  /** Left out: the device that the trace is about. */
  readonly device?: string;
  /** A point after each op, or after each event; left out: `op`. */
  readonly at?: "op" | "event";
}

/** Bytes on one device over a trace, as allocated. All columns have one entry per point. */
export interface MemoryTimeline {
  readonly device: string;
  readonly count: number;
  /** The event after which the point is. */
  readonly event: Int32Array;
  /** The last op before it; -1 before the first. */
  readonly op: Int32Array;
  readonly totalBytes: Float64Array;
  /** The most that was held since the point before, so that a peak inside an op is not lost. */
  readonly highestBytes: Float64Array;
  /** The categories that occur. */
  readonly bytesByCategory: ReadonlyMap<CategoryName, Float64Array>;
}

/**
 * Bytes by category over time.
 *
 * @throws RematError `TRACE_EVENT_ORDER`
 * @example
 * const { totalBytes, bytesByCategory } = memoryTimeline(trace);
 */
export function memoryTimeline(trace: Trace, options: TimelineOptions = {}): MemoryTimeline {
  const device = options.device ?? trace.header.device;
  const perEvent = options.at === "event";
  const count = perEvent ? trace.events.count : trace.ops.count;
  const eventColumn = new Int32Array(count);
  const opColumn = new Int32Array(count);
  const totalBytes = new Float64Array(count);
  const highestBytes = new Float64Array(count);
  const columns = categoryNames.map((): Float64Array | undefined => undefined);
  const storages = new LiveStorages();
  const { kind, subject, value } = trace.events;
  let deviceRow = -1;
  let point = 0;
  let op = -1;
  let highest = 0;
  const total = (): number => (deviceRow < 0 ? 0 : storages.totals[deviceRow + totalColumn]);
  for (let i = 0; i < trace.events.count; i++) {
    const item = subject[i];
    if (kind[i] === EventKind.op) op = item;
    else if (kind[i] === EventKind.allocate) {
      storages.allocate(trace, item, trace.storages.category[item], i, op + 1);
      if (deviceRow < 0) deviceRow = storages.devices.indexOf(device) * rowWidth;
    } else if (kind[i] === EventKind.free) storages.free(item, i);
    else if (kind[i] === EventKind.resize) storages.resize(item, value[i], i);
    else if (kind[i] === EventKind.categorize) storages.categorize(item, value[i], i);
    if (total() > highest) highest = total();
    if (!perEvent && kind[i] !== EventKind.op) continue;
    eventColumn[point] = i;
    opColumn[point] = op;
    totalBytes[point] = total();
    highestBytes[point] = highest;
    highest = total();
    if (deviceRow >= 0)
      for (let c = 0; c < columns.length; c++) {
        const bytes = storages.totals[deviceRow + c];
        if (bytes !== 0) (columns[c] ??= new Float64Array(count))[point] = bytes;
      }
    point++;
  }
  const bytesByCategory = new Map<CategoryName, Float64Array>();
  columns.forEach((column, c) => {
    if (column !== undefined) bytesByCategory.set(categoryNames[c], column);
  });
  return { device, count, event: eventColumn, op: opColumn, totalBytes, highestBytes, bytesByCategory };
}
