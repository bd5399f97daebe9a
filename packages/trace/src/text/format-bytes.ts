import { pythonFloat } from "./python-number.js";

/** A unit that all sizes can be shown in: those that PyTorch's trackers know. */
export type MemoryUnit = "B" | "KiB" | "MiB" | "GiB";

/** A KiB is 1024 bytes. */
const bytesByUnit: Readonly<Record<MemoryUnit | "TiB", number>> = {
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

/** Names of {@link MemoryUnit}, the smallest first. */
export const memoryUnits: readonly MemoryUnit[] = ["B", "KiB", "MiB", "GiB"];

/**
 * Returns bytes for people, in the binary unit that suits them: four significant digits, one of them at least after the point, or fewer where that is exact.
 * `formatBytes(1536) === "1.5 KiB"`, `formatBytes(1572865) === "1.500 MiB"`.
 */
export function formatBytes(bytes: number): string {
  const units = Object.entries(bytesByUnit).reverse();
  const [unit, divisor] = units.find(([, size]) => Math.abs(bytes) >= size) ?? ["B", 1];
  return `${divisor === 1 ? String(bytes) : fourDigits(bytes / divisor)} ${unit}`;
}

/** Returns bytes as they are typed after an option, to the last one, in the largest unit that they are a multiple of. `formatExactBytes(80 * 2 ** 30) === "80GiB"`. */
export function formatExactBytes(bytes: number): string {
  const units = Object.entries(bytesByUnit).reverse();
  const [unit, divisor] = units.find(([, size]) => bytes !== 0 && bytes % size === 0) ?? ["B", 1];
  return `${bytes / divisor}${unit}`;
}

/** Returns bytes as a budget is typed that is enough for so much, as {@link formatBytes} shows it: `formatBudget(1572865) === "1.500MiB"`, which `parseBudget` of `@remat/memory` reads as all that is shown so. */
export function formatBudget(bytes: number): string {
  return formatBytes(bytes).replace(" ", "");
}

/** Returns bytes as they are typed after an option, to the last one, and then as they are read. `formatTypedBytes(1536) === "1536B (1.5 KiB)"`. */
export function formatTypedBytes(bytes: number): string {
  return `${bytes}B${Math.abs(bytes) < bytesByUnit.KiB ? "" : ` (${formatBytes(bytes)})`}`;
}

/** Returns `bytes` in `unit`: whole in B, else rounded to hundredths, ties to the even one. */
export function roundToUnit(bytes: number, unit: MemoryUnit): number {
  const divisor = bytesByUnit[unit];
  if (divisor === 1) return bytes;
  // Exact in integers: a quotient by a power of two often lies halfway between two hundredths, where `toFixed` rounds up.
  const scaled = BigInt(bytes) * 100n;
  const by = BigInt(divisor);
  let hundredths = scaled / by;
  const twice = (scaled % by) * 2n;
  if (twice > by || (twice === by && hundredths % 2n === 1n)) hundredths++;
  return Number(hundredths) / 100;
}

/** Returns bytes as PyTorch's trackers print them: `12.5 MiB`, `3.0 KiB`, `400 B`. */
export function formatInUnit(bytes: number, unit: MemoryUnit): string {
  const value = roundToUnit(bytes, unit);
  return `${unit === "B" ? value : pythonFloat(value)} ${unit}`;
}

function fourDigits(value: number): string {
  const text = Math.abs(value) < 999.95 ? value.toPrecision(4) : value.toFixed(1);
  // What was rounded keeps its zeros, by which it is told from what is exactly so much.
  return Number(text) === value ? String(value) : text;
}
