import { formatNumber } from "./format-number.js";

/** Formats a fraction as a percentage with one decimal. `formatPercent(0.1234) === "12.3%"`. */
export function formatPercent(fraction: number): string {
  return `${(fraction * 100).toFixed(1)}%`;
}

/**
 * Formats a fraction as a percentage, with a decimal only if needed. Used for limits and ticks.
 * `formatChosenPercent(0.05) === "5%"`.
 */
export function formatChosenPercent(fraction: number): string {
  return `${Math.round(fraction * 1000) / 10}%`;
}

/** Formats a fraction as a whole percentage. Used for shares. `formatWholePercent(0.583) === "58%"`. */
export function formatWholePercent(fraction: number): string {
  return `${Math.round(fraction * 100)}%`;
}

/**
 * Formats a small fraction as a percentage, precise to hundredths of a percent or better. Used for overheads and gaps.
 * `formatOverhead(0.00163) === "0.163%"`.
 */
export function formatOverhead(fraction: number): string {
  const percent = fraction * 100;
  if (percent === 0) return "0%";
  const size = Math.abs(percent);
  if (size < 0.001) return "< 0.001%";
  return `${percent < 0 ? "−" : ""}${size.toFixed(size < 1 ? 3 : size < 10 ? 2 : 1)}%`;
}

/**
 * Formats a change as a percentage with its sign. If the new value is at least ten times the old one, formats it as a
 * factor. `formatChange(-0.05) === "-5.0%"`, `formatChange(33849.443) === "33,850x"`
 */
export function formatChange(fraction: number): string {
  if (fraction === 0) return "0%";
  if (fraction >= 9) return `${formatNumber(Number((fraction + 1).toPrecision(4)))}x`;
  return `${fraction > 0 ? "+" : ""}${formatPercent(fraction)}`;
}

/** Formats a fraction as it is typed after an option, with at most six significant digits. `formatTypedPercent(0.2) === "20%"`. */
export function formatTypedPercent(fraction: number): string {
  return `${Number((100 * fraction).toPrecision(6))}%`;
}
