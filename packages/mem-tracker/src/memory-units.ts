import { pythonFloat } from "@remat/text-table";
import { RematError } from "@remat/trace";

/** Units in which sizes are shown. A KiB is 1024 bytes. */
export type MemoryUnit = "B" | "KiB" | "MiB" | "GiB";

export const memoryUnits: readonly MemoryUnit[] = ["B", "KiB", "MiB", "GiB"];

const bytesByUnit: Readonly<Record<MemoryUnit, number>> = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/**
 * Returns `text` as a unit.
 *
 * @throws RematError `UNKNOWN_UNIT`
 * @example
 * parseMemoryUnit("MiB"); // "MiB"
 */
export function parseMemoryUnit(text: string): MemoryUnit {
  if (!Object.hasOwn(bytesByUnit, text))
    throw new RematError(
      "UNKNOWN_UNIT",
      `unknown unit ${JSON.stringify(text)}: expected one of ${memoryUnits.join(", ")}. Note the capital letters: KiB is 1024 bytes.`,
    );
  return text as MemoryUnit;
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

/** Writes bytes as upstream prints them: `12.5 MiB`, `3.0 KiB`, `400 B`. */
export function formatInUnit(bytes: number, unit: MemoryUnit): string {
  const value = roundToUnit(bytes, unit);
  return `${unit === "B" ? value : pythonFloat(value)} ${unit}`;
}
