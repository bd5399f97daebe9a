/** A polynomial of at most degree 2 through whole numbers: `c0 + c1 x + c2 x²`, coefficients as they stand over `denominator`. */
export interface Polynomial {
  readonly numerators: readonly [c0: bigint, c1: bigint, c2: bigint];
  readonly denominator: bigint;
}

/**
 * Returns the polynomial of least degree through points: a line through two, of at most degree 2 through three. Exact: no number is rounded.
 *
 * @param xs different whole numbers, two or three
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
  // Newton's divided differences over one denominator.
  const denominator = (x1 - x0) * (x2 - x0) * (x2 - x1);
  const first = (y1 - y0) * (x2 - x0) * (x2 - x1);
  const second = (y2 - y0) * (x1 - x0) - (y1 - y0) * (x2 - x0);
  return reduced([y0 * denominator - first * x0 + second * x0 * x1, first - second * (x0 + x1), second], denominator);
}

/** Returns the value at a whole number; where that is no whole number, the next one above. */
export function valueAt({ numerators: [c0, c1, c2], denominator }: Polynomial, x: number): number {
  const at = BigInt(x);
  const value = c0 + at * (c1 + at * c2);
  const quotient = value / denominator;
  return Number(quotient * denominator < value ? quotient + 1n : quotient);
}

/** Returns 0 of what is constant, 1 of a line, 2 of a square. */
export function degreeOf({ numerators }: Polynomial): 0 | 1 | 2 {
  return numerators[2] !== 0n ? 2 : numerators[1] !== 0n ? 1 : 0;
}

/**
 * Tells whether this can be the size of a tensor whose sides are constant or lines of x: a product of two lines, each of which is 0 well below the smallest of `xs`, and whole at every
 * multiple. A polynomial through three arbitrary numbers is hardly ever one, nor is a line through two points of a square.
 *
 * @param xs what it was fitted at, the smallest first
 */
export function isSizeOfTensor({ numerators: [c0, c1, c2], denominator }: Polynomial, xs: readonly number[]): boolean {
  const smallest = BigInt(xs[0]);
  // Halves are those of a triangle.
  const step = xs.reduce((divisor, x) => greatestDivisor(divisor, BigInt(x) - smallest), 0n);
  for (const x of [smallest, smallest + step, smallest + 2n * step])
    if ((c0 + x * (c1 + x * c2)) % denominator !== 0n) return false;
  if (c2 < 0n || (c2 === 0n && c1 < 0n)) return false;
  if (c2 === 0n) return c1 === 0n || -2n * c0 < c1 * smallest;
  const discriminant = c1 * c1 - 4n * c0 * c2;
  const root = squareRoot(discriminant);
  return root !== undefined && root - c1 < c2 * smallest;
}

/** Of a square of a whole number; undefined of others. */
function squareRoot(square: bigint): bigint | undefined {
  if (square < 0n) return undefined;
  let root = BigInt(Math.floor(Math.sqrt(Number(square))));
  // What the nearest number with 53 bits leaves to be found, by Newton's method.
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
