const digitBits = 11;
const digits = 6;
const digitValues = 1 << digitBits;

/**
 * Returns the indices of numbers in descending order of the numbers. Equal numbers are in ascending order of index. The
 * numbers must not be negative or NaN. The function is a radix sort of the bits and takes linear time. The bits of
 * nonnegative numbers have the same order as the numbers. In an estimate of a million ops, a comparison sort would take
 * most of the time.
 */
export function descendingOrder(values: Float64Array): Int32Array {
  const count = values.length;
  const words = new Uint32Array(new Float64Array([1]).buffer);
  const highFirst = words[0] === 0 ? 1 : 0;
  const bits = new Uint32Array(values.buffer, values.byteOffset, 2 * count);
  let from = { low: new Uint32Array(count), high: new Uint32Array(count), index: new Int32Array(count) };
  let to = { low: new Uint32Array(count), high: new Uint32Array(count), index: new Int32Array(count) };
  const counts = new Int32Array(digits * digitValues);
  for (let i = 0; i < count; i++) {
    // Inverted bits, so that the largest comes first.
    const low = ~bits[2 * i + 1 - highFirst] >>> 0;
    const high = ~bits[2 * i + highFirst] >>> 0;
    from.low[i] = low;
    from.high[i] = high;
    from.index[i] = i;
    for (let d = 0; d < digits; d++) counts[d * digitValues + digit(low, high, d)]++;
  }
  for (let d = 0; d < digits; d++) {
    const places = counts.subarray(d * digitValues, (d + 1) * digitValues);
    let place = 0;
    let isOne = false;
    for (let value = 0; value < digitValues; value++) {
      const found = places[value];
      isOne ||= found === count;
      places[value] = place;
      place += found;
    }
    // A digit that all numbers share does not change the order.
    if (isOne) continue;
    for (let i = 0; i < count; i++) {
      const at = places[digit(from.low[i], from.high[i], d)]++;
      to.low[at] = from.low[i];
      to.high[at] = from.high[i];
      to.index[at] = from.index[i];
    }
    [from, to] = [to, from];
  }
  return from.index;
}

/** Digit `d` of a 64-bit number, lowest first. The third digit spans both halves. */
function digit(low: number, high: number, d: number): number {
  const shift = d * digitBits;
  if (shift >= 32) return (high >>> (shift - 32)) & (digitValues - 1);
  const rest = low >>> shift;
  return (shift + digitBits > 32 ? rest | (high << (32 - shift)) : rest) & (digitValues - 1);
}
