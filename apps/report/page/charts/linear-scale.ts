/** Returns where an amount of a domain stands in a range, in pixels. d3-scale, which can mix colours, too, would take a tenth of every report. */
export function linearScale(
  [from, to]: readonly [number, number],
  [first, last]: readonly [number, number],
): (amount: number) => number {
  // Of a domain that is one point, all is in the middle.
  return (amount) => (to === from ? (first + last) / 2 : first + ((amount - from) / (to - from)) * (last - first));
}
