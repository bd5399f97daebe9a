import { formatBytes, formatInUnit, type MemoryUnit, memoryUnits } from "@remat/trace/text";

/** In what sizes are written: one unit for all, or what suits each. */
export type SizeUnit = MemoryUnit | "auto";

/** Writes bytes for people. */
export type SizeFormat = (bytes: number) => string;

/** Names of {@link SizeUnit}, in the order in which help lists them. */
export const sizeUnits: readonly SizeUnit[] = ["auto", ...memoryUnits];

/** Returns how bytes are written in a unit, by `auto` in the one that suits each: `sizeFormat("auto")(1536) === "1.5 KiB"`. */
export function sizeFormat(unit: SizeUnit = "auto"): SizeFormat {
  return unit === "auto" ? formatBytes : (bytes) => formatInUnit(bytes, unit);
}
