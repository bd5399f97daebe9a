export {
  formatChange,
  formatChosenPercent,
  formatOverhead,
  formatPercent,
  formatTypedPercent,
  formatWholePercent,
} from "@remat/trace/text";

/**
 * Significant digits of a time or rate that a roofline estimated. Such a figure can be wrong by a factor of two and more,
 * so it has no use for further digits.
 */
export const estimatedDigits = 2;

/** Formats milliseconds as µs, ms or s with four significant digits. `formatMs(0.0123) === "12.3 µs"`. */
export function formatMs(ms: number): string {
  return formatTo(4, ms);
}

/** Formats an estimated time with two significant digits. `formatEstimatedMs(0.008104) === "8.1 µs"` */
export function formatEstimatedMs(ms: number): string {
  return formatTo(estimatedDigits, ms);
}

function formatTo(digits: number, ms: number): string {
  const size = Math.abs(ms);
  if (size === 0) return "0 ms";
  const trim = (value: number): string => String(Number(value.toPrecision(digits)));
  // Values that round to 1 or 1000 have the next unit.
  if (size < 1 - 0.5 * 10 ** -Math.min(3, digits)) return `${trim(ms * 1000)} µs`;
  if (size < 1000 - 0.5 * 10 ** (3 - digits)) return `${trim(ms)} ms`;
  return `${trim(ms / 1000)} s`;
}
