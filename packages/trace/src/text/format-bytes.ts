import { pythonFloat } from "./python-number.js";

/** A unit for sizes: one of those that PyTorch's trackers support. */
export type MemoryUnit = "B" | "KiB" | "MiB" | "GiB";

/** A KiB is 1024 bytes. */
const bytesByUnit: Readonly<Record<MemoryUnit | "TiB", number>> = {
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

/** The names of {@link MemoryUnit}, from the smallest to the largest. */
export const memoryUnits: readonly MemoryUnit[] = ["B", "KiB", "MiB", "GiB"];

/**
 * Formats bytes for people in a suitable binary unit. It has four significant digits and at least one digit after the
 * point, or fewer digits if the number is exact. `formatBytes(1536) === "1.5 KiB"`,
 * `formatBytes(1572865) === "1.500 MiB"`.
 */
export function formatBytes(bytes: number): string {
  const units = Object.entries(bytesByUnit).reverse();
  const [unit, divisor] = units.find(([, size]) => Math.abs(bytes) >= size) ?? ["B", 1];
  return `${divisor === 1 ? String(bytes) : fourDigits(bytes / divisor)} ${unit}`;
}

/**
 * Formats bytes exactly, as for a command-line option, in the largest unit that divides them. `formatExactBytes(80 * 2
 * ** 30) === "80GiB"`.
 */
export function formatExactBytes(bytes: number): string {
  const units = Object.entries(bytesByUnit).reverse();
  const [unit, divisor] = units.find(([, size]) => bytes !== 0 && bytes % size === 0) ?? ["B", 1];
  return `${bytes / divisor}${unit}`;
}

/**
 * Formats bytes as a budget for a command-line option, with the digits of {@link formatBytes}: `formatBudget(1572865)
 * === "1.500MiB"`. `parseBudget` of `@remat/memory` reads this text as the largest size that is formatted in the same
 * way, so the budget is sufficient.
 */
export function formatBudget(bytes: number): string {
  return formatBytes(bytes).replace(" ", "");
}

/**
 * Formats bytes exactly, as for a command-line option, followed by the readable size. `formatTypedBytes(1536) ===
 * "1536B (1.5 KiB)"`.
 */
export function formatTypedBytes(bytes: number): string {
  return `${bytes}B${Math.abs(bytes) < bytesByUnit.KiB ? "" : ` (${formatBytes(bytes)})`}`;
}

/** Converts bytes to `unit`: whole bytes in B, otherwise rounded to hundredths, ties to even. */
export function roundToUnit(bytes: number, unit: MemoryUnit): number {
  const divisor = bytesByUnit[unit];
  if (divisor === 1) return bytes;
  // Integers keep this exact: a quotient by a power of two often lies halfway between two hundredths, where `toFixed`
  // rounds up.
  const scaled = BigInt(bytes) * 100n;
  const by = BigInt(divisor);
  let hundredths = scaled / by;
  const twice = (scaled % by) * 2n;
  if (twice > by || (twice === by && hundredths % 2n === 1n)) hundredths++;
  return Number(hundredths) / 100;
}

/** Formats bytes as PyTorch's trackers print them: `12.5 MiB`, `3.0 KiB`, `400 B`. */
export function formatInUnit(bytes: number, unit: MemoryUnit): string {
  const value = roundToUnit(bytes, unit);
  return `${unit === "B" ? value : pythonFloat(value)} ${unit}`;
}

function fourDigits(value: number): string {
  const text = Math.abs(value) < 999.95 ? value.toPrecision(4) : value.toFixed(1);
  // A rounded number keeps its trailing zeros, which distinguish it from an exact one.
  return Number(text) === value ? String(value) : text;
}
