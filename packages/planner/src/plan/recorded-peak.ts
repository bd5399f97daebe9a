import { EventKind, roundUpBytes, type Trace } from "@remat/trace";

/**
 * The most bytes alive at any moment of a trace as the engine recorded it (trace rule T3): what the step holds without a plan.
 *
 * @example
 * const budgetBytes = 0.6 * recordedPeakBytes(trace);
 */
export function recordedPeakBytes(trace: Trace): number {
  const { events, storages, header } = trace;
  const bytes = new Float64Array(storages.count);
  let held = 0;
  let peak = 0;
  const become = (storage: number, size: number) => {
    held += size - bytes[storage];
    bytes[storage] = size;
    if (held > peak) peak = held;
  };
  for (let e = 0; e < events.count; e++) {
    const storage = events.subject[e];
    if (events.kind[e] === EventKind.allocate)
      become(storage, roundUpBytes(storages.bytes[storage], header.allocationUnitBytes));
    else if (events.kind[e] === EventKind.resize)
      become(storage, roundUpBytes(events.value[e], header.allocationUnitBytes));
    else if (events.kind[e] === EventKind.free) become(storage, 0);
  }
  return peak;
}
