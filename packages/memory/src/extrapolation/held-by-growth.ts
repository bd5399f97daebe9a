import type { Trace } from "@remat/trace";
import { HeldMemory, type HeldPeak } from "../held/held-memory.js";
import { isTurn } from "../held/memory-events.js";

/** Returns the live bytes at a peak, grouped by how their storages grow: constant, linear, quadratic. */
export function heldByGrowth(
  trace: Trace,
  { device, event }: Pick<HeldPeak, "device" | "event">,
  degrees: Uint8Array,
): readonly [constant: number, line: number, square: number] {
  const held = new HeldMemory();
  const { count } = trace.events;
  held.take(trace, event >= count ? count : isTurn(trace, event) ? event : event + 1);
  const { storages } = held;
  const index = storages.devices.indexOf(device);
  const bytes: [number, number, number] = [0, 0, 0];
  for (let s = 0; s < trace.storages.count; s++)
    if (storages.isAlive(s) && storages.device[s] === index) bytes[degrees[s]] += storages.bytes[s];
  return bytes;
}
