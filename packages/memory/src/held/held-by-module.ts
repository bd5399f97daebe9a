import type { Trace } from "@remat/trace";
import { HeldMemory, type HeldPeak } from "./held-memory.js";
import { isTurn } from "./memory-events.js";
import { storageModules } from "./module-bytes.js";

/**
 * Returns the live bytes of each module at a peak, by its fully qualified name and including its submodules: the
 * weights that it owns, and live results of its ops. Memory outside of modules is not included.
 *
 * @param trace the trace
 * @param peak a peak of this trace, see `heldPeak`
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
