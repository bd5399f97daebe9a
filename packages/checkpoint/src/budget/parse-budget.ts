import { RematError } from "@remat/trace";

/** All live bytes: a number of bytes, a size (`"2GB"`, `"500 MiB"`), or a part of what stock takes at its peak (`"60%"`). */
export type MemoryBudget = number | string;

const unitBytes: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

const size = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*|%)\s*$/i;

/**
 * Returns a budget in bytes, or as a fraction of stock's peak.
 *
 * @throws RematError `BUDGET` for what is neither
 * @example
 * parseBudget("1.5GB"); // { bytes: 1500000000 }
 * parseBudget("60%"); // { fraction: 0.6 }
 */
export function parseBudget(budget: MemoryBudget): { readonly bytes: number } | { readonly fraction: number } {
  const [, digits, unit = ""] = (typeof budget === "string" && size.exec(budget)) || [];
  const amount = typeof budget === "number" ? budget : Number(digits);
  if (unit === "%" && amount > 0 && amount <= 100) return { fraction: amount / 100 };
  const bytes = Math.floor(amount * (unitBytes[unit.toLowerCase()] ?? Number.NaN));
  if (bytes > 0 && bytes < Number.POSITIVE_INFINITY) return { bytes };
  throw new RematError(
    "BUDGET",
    `expected a budget as a number of bytes above 0, a size such as "2GB" or "500MiB", or a percentage up to "100%", found ${typeof budget === "number" ? budget : JSON.stringify(budget)}`,
  );
}
