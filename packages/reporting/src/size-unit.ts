import { formatBytes, formatInUnit, type MemoryUnit, memoryUnits } from "@remat/trace/text";

/** Unit in which sizes are written: the same for all, or a suitable one for each. */
export type SizeUnit = MemoryUnit | "auto";

/** Formats bytes. */
export type SizeFormat = (bytes: number) => string;

/** Writes a part of a whole; the unit is written once if both have it. @example formatPartOf(4.61 * 2 ** 30, 80 * 2 ** 30, formatBytes) // "4.61 of 80 GiB" */
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
