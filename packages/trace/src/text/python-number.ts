/*
 * Numbers as Python prints them. JavaScript finds the same digits, but it rounds exact ties away from zero where Python
 * rounds them to even, and it writes exponents differently.
 */

/** Rounds a number to `digits` decimal digits, half to even: `d.ddd` times ten to the power of `exponent`. */
function significantDigits(value: number, digits: number): { readonly digits: string; readonly exponent: number } {
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  const rounded = { digits: mantissa.replace(".", ""), exponent: Number(exponent) };
  if (digits > 80) return rounded;
  // If a double is not a tie, its first 17 significant digits show it, so 20 more digits are enough to decide.
  const [longMantissa, longExponent] = value.toExponential(digits + 19).split("e");
  const exact = longMantissa.replace(".", "");
  if (!/^50*$/.test(exact.slice(digits))) return rounded;
  const isEven = (exact.charCodeAt(digits - 1) - 48) % 2 === 0;
  return isEven ? { digits: exact.slice(0, digits), exponent: Number(longExponent) } : rounded;
}

function nonFinite(value: number): string | undefined {
  if (Number.isFinite(value)) return undefined;
  return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

function exponentText(exponent: number): string {
  return `e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

const signOf = (value: number): string => (value < 0 || Object.is(value, -0) ? "-" : "");

/** Puts the decimal point after position `point` of `digits`. */
function withPoint(digits: string, point: number): string {
  if (point <= 0) return `0.${"0".repeat(-point)}${digits}`;
  if (point >= digits.length) return digits + "0".repeat(point - digits.length);
  return `${digits.slice(0, point)}.${digits.slice(point)}`;
}

/**
 * Formats a float like Python's `str` and `repr`: the fewest digits that read back as the same number, with `.0` if it
 * is whole.
 *
 * @example
 * pythonFloat(1.589e-6); // "1.589e-06"
 * pythonFloat(3); // "3.0"
 */
export function pythonFloat(value: number): string {
  const special = nonFinite(value);
  if (special !== undefined) return special;
  const [mantissa, exponentDigits] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const exponent = Number(exponentDigits);
  if (exponent < -4 || exponent >= 16) return `${signOf(value)}${mantissa}${exponentText(exponent)}`;
  const text = withPoint(digits, exponent + 1);
  return signOf(value) + (text.includes(".") ? text : `${text}.0`);
}

/** Formats a number like Python's `f"{value:.4f}"` for `decimals` 4: fixed point, ties to even. */
export function pythonFixed(value: number, decimals: number): string {
  const special = nonFinite(value);
  if (special !== undefined) return special;
  const size = Math.abs(value);
  let text: string;
  if (size >= 1e21) text = BigInt(size).toString() + (decimals > 0 ? `.${"0".repeat(decimals)}` : "");
  else {
    text = size.toFixed(decimals);
    const exact = size.toFixed(Math.min(100, decimals + 20));
    const cut = exact.length - (Math.min(100, decimals + 20) - decimals);
    // Without decimals, the point is cut off as well.
    const kept = decimals === 0 ? exact.slice(0, cut - 1) : exact.slice(0, cut);
    if (/^50*$/.test(exact.slice(cut)) && (kept.charCodeAt(kept.length - 1) - 48) % 2 === 0) text = kept;
  }
  return signOf(value) + text;
}

/**
 * Formats a number like Python's `f"{value:.2e}"` for `decimals` 2: one digit before the point, an exponent of at least
 * two digits, ties to even.
 */
export function pythonScientific(value: number, decimals: number): string {
  const special = nonFinite(value);
  if (special !== undefined) return special;
  const { digits, exponent } = significantDigits(Math.abs(value), decimals + 1);
  const mantissa = decimals === 0 ? digits : `${digits[0]}.${digits.slice(1)}`;
  return signOf(value) + mantissa + exponentText(exponent);
}

/**
 * Formats a number like Python's `f"{value:g}"`: `precision` significant digits, 6 by default, without trailing zeros,
 * and with an exponent if that is shorter.
 */
export function pythonGeneral(value: number, precision = 6): string {
  const special = nonFinite(value);
  if (special !== undefined) return special;
  const { digits, exponent } = significantDigits(Math.abs(value), precision);
  const kept = digits.replace(/(?<!0)0+$/, "") || "0";
  if (exponent < -4 || exponent >= precision) {
    const mantissa = kept.length === 1 ? kept : `${kept[0]}.${kept.slice(1)}`;
    return signOf(value) + mantissa + exponentText(exponent);
  }
  return signOf(value) + withPoint(kept, exponent + 1);
}
