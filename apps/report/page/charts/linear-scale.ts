/**
 * Returns a function that maps an amount in a domain to pixels in a range. d3-scale, which also mixes colours, would
 * take up a tenth of every report.
 */
export function linearScale(
  [from, to]: readonly [number, number],
  [first, last]: readonly [number, number],
): (amount: number) => number {
  // A domain with a single value is mapped to the middle.
  return (amount) => (to === from ? (first + last) / 2 : first + ((amount - from) / (to - from)) * (last - first));
}
