export {
  formatChange,
  formatChosenPercent,
  formatOverhead,
  formatPercent,
  formatTypedPercent,
  formatWholePercent,
} from "@remat/trace/text";

/** Formats milliseconds as µs, ms or s with four significant digits. `formatMs(0.0123) === "12.3 µs"`. */
export function formatMs(ms: number): string {
  const size = Math.abs(ms);
  if (size === 0) return "0 ms";
  if (size < 0.9995) return `${trim(ms * 1000, 4)} µs`;
  if (size < 999.95) return `${trim(ms, 4)} ms`;
  return `${trim(ms / 1000, 4)} s`;
}

function trim(value: number, digits: number): string {
  const text = value.toPrecision(digits);
  return text.includes("e") ? String(Math.round(value)) : text.includes(".") ? text.replace(/\.?(?<!0)0+$/, "") : text;
}
