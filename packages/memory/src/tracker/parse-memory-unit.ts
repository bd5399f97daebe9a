import { RematError } from "@remat/trace";
import { type MemoryUnit, memoryUnits } from "@remat/trace/text";

/**
 * Parses the name of a unit.
 *
 * @throws RematError `UNKNOWN_UNIT`
 * @example
 * parseMemoryUnit("MiB"); // "MiB"
 */
export function parseMemoryUnit(text: string): MemoryUnit {
  const found = memoryUnits.find((unit) => unit === text);
  if (found === undefined)
    throw new RematError(
      "UNKNOWN_UNIT",
      `unknown unit ${JSON.stringify(text)}. Use one of ${memoryUnits.join(", ")}; capital letters matter, and KiB is 1024 bytes.`,
    );
  return found;
}
