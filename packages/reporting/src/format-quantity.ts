/** Formats milliseconds as µs, ms or s with four significant digits. `formatMs(0.0123) === "12.3 µs"`. */
export function formatMs(ms: number): string {
  const size = Math.abs(ms);
  if (size === 0) return "0 ms";
  if (size < 0.9995) return `${trim(ms * 1000, 4)} µs`;
  if (size < 999.95) return `${trim(ms, 4)} ms`;
  return `${trim(ms / 1000, 4)} s`;
}

/** Returns a fraction as per cent with one decimal. `formatPercent(0.1234) === "12.3 %"`. */
export function formatPercent(fraction: number): string {
  return `${(fraction * 100).toFixed(1)} %`;
}

/** Returns a fraction as per cent with a decimal only where it has one: what somebody chose, a tick. `formatChosenPercent(0.05) === "5 %"`. */
export function formatChosenPercent(fraction: number): string {
  return `${Math.round(fraction * 1000) / 10} %`;
}

/** Returns a fraction as whole per cent, for shares of a whole. `formatWholePercent(0.583) === "58 %"`. */
export function formatWholePercent(fraction: number): string {
  return `${Math.round(fraction * 100)} %`;
}

/** Returns a small fraction as per cent: overheads and gaps of a hundredth of a per cent matter. `formatOverhead(0.00163) === "0.163 %"`. */
export function formatOverhead(fraction: number): string {
  const percent = fraction * 100;
  if (percent === 0) return "0 %";
  const size = Math.abs(percent);
  if (size < 0.001) return "< 0.001 %";
  return `${percent < 0 ? "−" : ""}${size.toFixed(size < 1 ? 3 : size < 10 ? 2 : 1)} %`;
}

/** Returns a change as per cent with its sign, or from the tenfold on as how many times it is. `formatChange(-0.05) === "-5.0 %"`, `formatChange(33849.443) === "33,850x"` */
export function formatChange(fraction: number): string {
  if (fraction === 0) return "0 %";
  if (fraction >= 9) return `${Number((fraction + 1).toPrecision(4)).toLocaleString("en")}x`;
  return `${fraction > 0 ? "+" : ""}${formatPercent(fraction)}`;
}

/** Returns a fraction as somebody types it after an option: no space, as many digits as it has, at most six. `formatTypedPercent(0.2) === "20%"`. */
export function formatTypedPercent(fraction: number): string {
  return `${Number((100 * fraction).toPrecision(6))}%`;
}

function trim(value: number, digits: number): string {
  const text = value.toPrecision(digits);
  return text.includes("e") ? String(Math.round(value)) : text.includes(".") ? text.replace(/\.?(?<!0)0+$/, "") : text;
}
