import { formatBytes, formatInUnit, type MemoryUnit, memoryUnits } from "@remat/trace/text";

/** Unit in which sizes are written: one unit for all sizes, or a suitable unit for each. */
export type SizeUnit = MemoryUnit | "auto";

/** Formats bytes. */
export type SizeFormat = (bytes: number) => string;

/**
 * Formats a part of a whole. If both have the same unit, it is written once. @example formatPartOf(4.61 * 2 ** 30, 80 *
 * 2 ** 30, formatBytes) // "4.61 of 80 GiB"
 */
export function formatPartOf(bytes: number, wholeBytes: number, size: SizeFormat): string {
  const [part, whole] = [size(bytes), size(wholeBytes)];
  const unit = /(?<= )\w+$/.exec(whole)?.[0];
  return `${unit !== undefined && part.endsWith(` ${unit}`) ? part.slice(0, -unit.length - 1) : part} of ${whole}`;
}

/** Names of {@link SizeUnit}, in the order in which help lists them. */
export const sizeUnits: readonly SizeUnit[] = ["auto", ...memoryUnits];

/**
 * Returns a formatter of bytes in a unit. `auto` chooses a suitable one for each:
 * `sizeFormat("auto")(1536) === "1.5 KiB"`.
 */
export function sizeFormat(unit: SizeUnit = "auto"): SizeFormat {
  return unit === "auto" ? formatBytes : (bytes) => formatInUnit(bytes, unit);
}
