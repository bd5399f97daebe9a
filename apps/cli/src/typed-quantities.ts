import { type Budget, bytesOfBudget, parseBudget } from "@remat/memory";
import { formatTypedPercent } from "@remat/reporting";
import { RematError } from "@remat/trace";
import { formatBudget, formatExactBytes } from "@remat/trace/text";
import { parseText, quote, UsageError } from "./usage-error.js";

/** Parses the value of `--budget`, in the same syntax as budgets in the API. */
export function parseBudgetOption(name: string, value: unknown): Budget {
  try {
    return parseBudget(parseText(name, value));
  } catch (error) {
    throw error instanceof RematError && error.code === "BUDGET"
      ? new UsageError(`--${name}: ${error.message}`)
      : error;
  }
}

/** Parses a size. A fraction is not allowed. */
export function parseSize(option: string, value: unknown): number {
  const given = parseText(option, value);
  let budget: Budget | undefined;
  try {
    budget = parseBudget(given);
  } catch (error) {
    if (!(error instanceof RematError)) throw error;
  }
  if (budget !== undefined && "bytes" in budget) return budget.bytes;
  throw new UsageError(`--${option} expects a size above 0 with a unit, such as 4GB; found ${quote(value)}.`);
}

/** Formats a budget so that {@link parseBudget} can read it. */
export function describeBudget(budget: Budget): string {
  if ("fraction" in budget) return formatTypedPercent(budget.fraction);
  const bytes = Math.floor(budget.bytes);
  const typed = formatBudget(bytes);
  return bytesOfBudget(parseBudget(typed), 0) === bytes ? typed : formatExactBytes(bytes);
}

/** Parses `20%` or `0.2`. */
export function parseShare(option: string, value: unknown): number {
  const match = /^(\d+(?:\.\d*)?|\.\d+)\s*(%)?$/.exec(String(value).trim());
  const share = match === null ? Number.NaN : Number(match[1]) / (match[2] === undefined ? 1 : 100);
  if (!(share >= 0) || typeof value === "boolean" || (share > 1 && match?.[2] === undefined))
    throw new UsageError(
      `--${option} expects a percentage or fraction, such as 20% or 0.2; found ${quote(value)}${share > 1 ? `. Do you mean ${String(value)}%?` : "."}`,
    );
  return share;
}

/** Parses `5s`, `500ms`, `2min`, or seconds. */
export function parseTimeMs(name: string, value: unknown): number {
  const match = /^(\d+(?:\.\d*)?|\.\d+)\s*(ms|s|m|min)?$/.exec(String(value).trim());
  const unit = match?.[2] ?? "s";
  const ms = match === null ? Number.NaN : Number(match[1]) * (unit === "ms" ? 1 : unit === "s" ? 1000 : 60_000);
  if (!(ms > 0) || typeof value === "boolean")
    throw new UsageError(`--${name} expects a time above 0, such as 5s, 500ms or 2min; found ${quote(value)}.`);
  return ms;
}
