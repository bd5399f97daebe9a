import type { Trace } from "@remat/trace";
import { HeldMemory, type HeldPeak } from "./held-memory.js";
import { isTurn } from "./memory-events.js";
import { storageModules } from "./module-bytes.js";

/**
 * Returns what each module holds at a peak, what is in it included, in bytes by its fully qualified name: weights that it owns, and what its ops made that
 * is alive. What belongs to no module is in none.
 *
 * @param peak of this trace, see `heldPeak`
 * @throws RematError `TRACE_EVENT_ORDER`
 */
export function heldByModule(trace: Trace, { device, event }: Pick<HeldPeak, "device" | "event">): Map<string, number> {
  const held = new HeldMemory();
  const { count } = trace.events;
  held.take(trace, event >= count ? count : isTurn(trace, event) ? event : event + 1);
  const { storages } = held;
  const index = storages.devices.indexOf(device);
  const owner = storageModules(trace);
  const own = new Float64Array(trace.modules.length);
  for (let s = 0; s < trace.storages.count; s++)
    if (owner[s] >= 0 && storages.isAlive(s) && storages.device[s] === index) own[owner[s]] += storages.bytes[s];
  const bytes = new Map<string, number>();
  trace.modules.forEach(({ fqn }, module) => {
    for (let name = fqn; name !== ""; name = name.slice(0, Math.max(0, name.lastIndexOf("."))))
      bytes.set(name, (bytes.get(name) ?? 0) + own[module]);
  });
  return bytes;
}
