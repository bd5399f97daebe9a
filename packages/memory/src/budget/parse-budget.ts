import { describeValue, RematError } from "@remat/trace";

/**
 * What may be held, as people write it: a size (`"2GB"`, `"500 MiB"`), a share of what is held without a plan (`"60%"`, `"0.6"`, 0.6; 1 is all
 * of it), or, above 1, a number of bytes. A size in four digits of a binary unit, as sizes are shown (`"702.7MiB"`), is all that is shown so: 702.75 MiB less a byte.
 */
export type MemoryBudget = number | string;

/** A budget, read: whole bytes, or a fraction (at most 1) of what is held without a plan. */
export type Budget = { readonly bytes: number } | { readonly fraction: number };

const forms = 'a share of what is held without a plan (0.9, "60%"), or bytes with a unit ("2GB", "512MiB")';
/** As `formatBytes` of `@remat/trace/text` rounds. */
const shown = /^(?=.{5}$|10..\..$)\d+\.\d+$/;
const written = /^(\d+(?:\.\d*)?|\.\d+)(?:e(\d+))?\s*(%|[kmgt]?i?b)?$/i;

/**
 * Returns a budget in bytes, or as a fraction of what is held without a plan. The only place where budgets are read, for the command line too.
 *
 * @throws RematError `BUDGET` for what is neither, for more than all, and for text without a unit that may mean bytes or per cent
 * @example
 * parseBudget("1.5GB"); // { bytes: 1500000000 }
 * parseBudget("60%"); // { fraction: 0.6 }
 */
export function parseBudget(budget: MemoryBudget): Budget {
  if (typeof budget === "number") return budget <= 1 ? share(budget, budget) : wholeBytes(budget, budget);
  const [, digits, exponent, unitText] = (typeof budget === "string" && written.exec(budget.trim())) || [];
  if (digits === undefined) throw refuse(budget);
  const amount = Number(`${digits}e${exponent ?? 0}`);
  const unit = unitText?.toLowerCase();
  if (unit === "%") return share(amount / 100, budget);
  if (unit === undefined && amount > 1) throw refuse(budget, `, which could be ${budget.trim()}B or ${budget.trim()}%`);
  if (unit === undefined) return share(amount, budget);
  const isBinary = unit.includes("i");
  const scale = (isBinary ? 1024 : 1000) ** ("kmgt".indexOf(unit[0]) + 1);
  // All that rounds to it is less than half of its last digit above it.
  const isRounded = isBinary && shown.test(digits);
  return wholeBytes(isRounded ? Math.ceil(Number(`${digits}5`) * scale - 1) : amount * scale, budget);
}

/** Returns a budget in whole bytes, given how much is held without a plan. */
export function bytesOfBudget(budget: Budget, referenceBytes: number): number {
  return "bytes" in budget ? budget.bytes : Math.floor(budget.fraction * referenceBytes);
}

function share(fraction: number, budget: MemoryBudget): Budget {
  if (fraction > 1) throw refuse(budget, ": more than without a plan is never needed");
  if (!(fraction > 0)) throw refuse(budget, ", which is not more than 0");
  return { fraction };
}

function wholeBytes(amount: number, budget: MemoryBudget): Budget {
  const bytes = Math.floor(amount);
  if (!(bytes > 0 && bytes < Number.POSITIVE_INFINITY)) throw refuse(budget, ", which is not a byte or more");
  return { bytes };
}

function refuse(budget: unknown, why = ""): RematError {
  return new RematError("BUDGET", `expected a budget as ${forms}; found ${describeValue(budget)}${why}`);
}
