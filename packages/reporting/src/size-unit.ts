import { formatBytes, formatInUnit, type MemoryUnit, memoryUnits } from "@remat/trace/text";

/** Unit in which sizes are written: the same for all, or a suitable one for each. */
export type SizeUnit = MemoryUnit | "auto";

/** Formats bytes. */
export type SizeFormat = (bytes: number) => string;

/** Names of {@link SizeUnit}, in the order in which help lists them. */
export const sizeUnits: readonly SizeUnit[] = ["auto", ...memoryUnits];

/**
 * Returns a formatter of bytes in a unit. `auto` chooses a suitable one for each:
 * `sizeFormat("auto")(1536) === "1.5 KiB"`.
 */
export function sizeFormat(unit: SizeUnit = "auto"): SizeFormat {
  return unit === "auto" ? formatBytes : (bytes) => formatInUnit(bytes, unit);
}
