/** A polynomial of degree 2 or less over whole numbers: `(c0 + c1 x + c2 x²) / denominator`. */
export interface Polynomial {
  readonly numerators: readonly [c0: bigint, c1: bigint, c2: bigint];
  readonly denominator: bigint;
}

/**
 * Returns the polynomial of least degree through points: degree 1 or less through two points, or degree 2 or less
 * through three. Nothing is rounded.
 *
 * @param xs two or three different whole numbers
 * @param ys whole numbers
 * @example
 * valueAt(fitPolynomial([1, 2, 3], [3, 12, 27]), 10); // 300
 */
export function fitPolynomial(xs: readonly number[], ys: readonly number[]): Polynomial {
  const [x0, x1, x2] = xs.map(BigInt);
  const [y0, y1, y2] = ys.map(BigInt);
  if (xs.length === 2) {
    const rise = y1 - y0;
    const run = x1 - x0;
    return reduced([y0 * run - rise * x0, rise, 0n], run);
  }
  // Newton's divided differences over a common denominator.
  const denominator = (x1 - x0) * (x2 - x0) * (x2 - x1);
  const first = (y1 - y0) * (x2 - x0) * (x2 - x1);
  const second = (y2 - y0) * (x1 - x0) - (y1 - y0) * (x2 - x0);
  return reduced([y0 * denominator - first * x0 + second * x0 * x1, first - second * (x0 + x1), second], denominator);
}

/** Returns the value at a whole number, rounded up. */
export function valueAt({ numerators: [c0, c1, c2], denominator }: Polynomial, x: number): number {
  const at = BigInt(x);
  const value = c0 + at * (c1 + at * c2);
  const quotient = value / denominator;
  return Number(quotient * denominator < value ? quotient + 1n : quotient);
}

/** Returns 0 for a constant, 1 for a line, 2 for a square. */
export function degreeOf({ numerators }: Polynomial): 0 | 1 | 2 {
  return numerators[2] !== 0n ? 2 : numerators[1] !== 0n ? 1 : 0;
}

/**
 * Returns whether a polynomial can be the size of a tensor whose dimensions are constant or linear in x. It must be a
 * product of two lines, each of which is 0 well below the smallest of `xs` and a whole number at every multiple. A
 * polynomial through three arbitrary numbers hardly ever passes this test, and neither does a line through two points
 * of a square.
 *
 * @param xs the sizes that it was fitted at, in ascending order
 */
export function isSizeOfTensor({ numerators: [c0, c1, c2], denominator }: Polynomial, xs: readonly number[]): boolean {
  const smallest = BigInt(xs[0]);
  // Halves can come from a triangle.
  const step = xs.reduce((divisor, x) => greatestDivisor(divisor, BigInt(x) - smallest), 0n);
  for (const x of [smallest, smallest + step, smallest + 2n * step])
    if ((c0 + x * (c1 + x * c2)) % denominator !== 0n) return false;
  if (c2 < 0n || (c2 === 0n && c1 < 0n)) return false;
  if (c2 === 0n) return c1 === 0n || -2n * c0 < c1 * smallest;
  const discriminant = c1 * c1 - 4n * c0 * c2;
  const root = squareRoot(discriminant);
  return root !== undefined && root - c1 < c2 * smallest;
}

/** Returns the root of the square of a whole number, or undefined for other numbers. */
function squareRoot(square: bigint): bigint | undefined {
  if (square < 0n) return undefined;
  let root = BigInt(Math.floor(Math.sqrt(Number(square))));
  // Newton's method corrects the error of the 53-bit root.
  for (let last = -1n; root !== last && root > 0n; ) {
    const next = (root + square / root) / 2n;
    if (next === root || next === last) break;
    last = root;
    root = next;
  }
  for (const near of [root - 1n, root, root + 1n]) if (near >= 0n && near * near === square) return near;
  return undefined;
}

function reduced(numerators: readonly [bigint, bigint, bigint], denominator: bigint): Polynomial {
  const sign = denominator < 0n ? -1n : 1n;
  let divisor = absolute(denominator);
  for (const numerator of numerators) divisor = greatestDivisor(divisor, absolute(numerator));
  const [c0, c1, c2] = numerators.map((numerator) => (sign * numerator) / divisor);
  return { numerators: [c0, c1, c2], denominator: (sign * denominator) / divisor };
}

const absolute = (value: bigint): bigint => (value < 0n ? -value : value);

function greatestDivisor(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}
