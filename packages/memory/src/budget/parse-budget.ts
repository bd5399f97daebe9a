import { describeValue, RematError } from "@remat/trace";

/**
 * A memory budget as people write it: a size (`"2GB"`, `"500 MiB"`), or a share of the peak without a plan (`"60%"`,
 * `"0.6"`, 0.6). A number above 1 is a number of bytes. A size with four digits in a binary unit (`"702.7MiB"`) has the
 * precision in which sizes are shown. It stands for the largest size that is shown as this text: 702.75 MiB minus one
 * byte.
 */
export type MemoryBudget = number | string;

/** A parsed budget: whole bytes, or a fraction (at most 1) of the peak without a plan. */
export type Budget = { readonly bytes: number } | { readonly fraction: number };

const forms = 'a share of the peak without a plan (0.9, "60%"), or a size with a unit ("2GB", "512MiB")';
/** Matches numbers rounded like those of `formatBytes` in `@remat/trace/text`. */
const shown = /^(?=.{5}$|10..\..$)\d+\.\d+$/;
const written = /^(\d+(?:\.\d*)?|\.\d+)(?:e(\d+))?\s*(%|[kmgt]?i?b)?$/i;

/**
 * Parses a budget into bytes, or into a fraction of the peak without a plan. All budgets are parsed here, including
 * those of the command line.
 *
 * @throws RematError `BUDGET` if the budget is neither a size nor a share, is above 100%, or is a number without a unit
 * that could mean bytes or percent
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
  if (unit === undefined && amount > 1) throw refuse(budget, `. Do you mean ${budget.trim()}B or ${budget.trim()}%?`);
  if (unit === undefined) return share(amount, budget);
  const isBinary = unit.includes("i");
  const scale = (isBinary ? 1024 : 1000) ** ("kmgt".indexOf(unit[0]) + 1);
  // Every size that rounds to this number is less than half a unit of its last digit above it.
  const isRounded = isBinary && shown.test(digits);
  return wholeBytes(isRounded ? Math.ceil(Number(`${digits}5`) * scale - 1) : amount * scale, budget);
}

/**
 * Converts a budget to whole bytes.
 *
 * @param referenceBytes the peak without a plan
 */
export function bytesOfBudget(budget: Budget, referenceBytes: number): number {
  return "bytes" in budget ? budget.bytes : Math.floor(budget.fraction * referenceBytes);
}

function share(fraction: number, budget: MemoryBudget): Budget {
  if (fraction > 1) throw refuse(budget, ", more than 100%");
  if (!(fraction > 0)) throw refuse(budget, ", which is not more than 0");
  return { fraction };
}

function wholeBytes(amount: number, budget: MemoryBudget): Budget {
  const bytes = Math.floor(amount);
  if (!(bytes > 0 && bytes < Number.POSITIVE_INFINITY)) throw refuse(budget, ", less than a byte");
  return { bytes };
}

function refuse(budget: unknown, why = ""): RematError {
  return new RematError(
    "BUDGET",
    `expected a budget as ${forms}; found ${describeValue(budget)}${why}${why.endsWith("?") ? "" : "."}`,
  );
}
