/**
 * Makes `Math.random` give the same numbers in every process: initializers, dropout masks and random data draw from it. Returns what puts
 * the real one back.
 */
export function seedMathRandom(seed: number): () => void {
  const real = Math.random;
  Math.random = mulberry32(seed);
  return () => {
    Math.random = real;
  };
}

/** Numbers in [0, 1) with a state of 32 bits: Tommy Ettinger's mulberry32. */
export function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
