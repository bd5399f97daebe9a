import { type MemoryMoment, type MemoryTimeline, momentAt } from "@remat/mem-tracker";
import { EventKind, roundUpBytes, type Trace } from "@remat/trace";

/** The first op at which most is held; -1 for a timeline without ops. */
export function peakOp({ highestBytes }: Pick<MemoryTimeline, "highestBytes">): number {
  let peak = highestBytes.length > 0 ? 0 : -1;
  for (let op = 1; op < highestBytes.length; op++) if (highestBytes[op] > highestBytes[peak]) peak = op;
  return peak;
}

/**
 * What is held at the peak of a timeline that has a point per op, with the largest storages, who made each, and where. Reached inside an op,
 * it is that moment inside.
 *
 * @throws RematError `MEMORY_NO_SUCH_MOMENT` for a trace without ops
 * @example
 * peakMomentOf(trace, memoryTimeline(trace), { limit: 5 }).largest[0].maker?.module;
 */
export function peakMomentOf(
  trace: Trace,
  timeline: MemoryTimeline,
  options: { readonly limit?: number } = {},
): MemoryMoment {
  const op = peakOp(timeline);
  const { device } = timeline;
  if (op < 0) return momentAt(trace, { op }, { ...options, device });
  const { kind, subject, value } = trace.events;
  const deviceId = trace.strings.indexOf(device);
  const sameKind = device.split(":")[0] === trace.header.device.split(":")[0];
  const unit = sameKind ? trace.header.allocationUnitBytes : 1;
  const onDevice = (storage: number): boolean => trace.storages.device[storage] === deviceId;
  // Frees and resizes only matter by their sign: bytes are highest just before the first that follows the last growth to the peak.
  const target = timeline.highestBytes[op];
  let held = op === 0 ? 0 : timeline.totalBytes[op - 1];
  const resized = new Map<number, number>();
  const first = op === 0 ? 0 : timeline.event[op - 1] + 1;
  for (let e = 0; e < first; e++) if (kind[e] === EventKind.resize) resized.set(subject[e], value[e]);
  const size = (storage: number): number => roundUpBytes(resized.get(storage) ?? trace.storages.bytes[storage], unit);
  let reached = held === target;
  for (let e = first; e <= timeline.event[op]; e++) {
    const storage = subject[e];
    const isChange = kind[e] === EventKind.free || kind[e] === EventKind.resize;
    if (reached && (kind[e] === EventKind.op || (isChange && onDevice(storage))))
      return momentAt(trace, { event: e }, { ...options, device });
    if (kind[e] === EventKind.allocate && onDevice(storage)) held += size(storage);
    else if (kind[e] === EventKind.free && onDevice(storage)) held -= size(storage);
    else if (kind[e] === EventKind.resize) {
      if (onDevice(storage)) held -= size(storage);
      resized.set(storage, value[e]);
      if (onDevice(storage)) held += size(storage);
    }
    if (held >= target) reached = true;
  }
  return momentAt(trace, { op }, { ...options, device });
}
