import { isOnesArray } from "../gradients/ones-array.js";

/** Values that JavaScript filled, in compact form: a short list, or one value repeated. */
export interface ConstantData {
  /** The short list. */
  readonly values: ArrayLike<unknown> | undefined;
  /** The repeated value, if there is no list. */
  readonly fill: number;
  /** Number of values. */
  readonly length: number;
  /** Constructor of the array. */
  readonly make: new (
    length: number,
  ) => ArrayLike<unknown> & { fill(value: number): unknown };
}

/** Longer lists are kept only if all their values are the same. */
const longestList = 1024;

/** Returns the compact form of `values` if JavaScript filled them and they have one. @internal */
export function constantIn(values: ArrayLike<unknown> | null | undefined): ConstantData | undefined {
  if (values == null || !ArrayBuffer.isView(values)) return undefined;
  const array = values as unknown as Float32Array;
  const make = array.constructor as ConstantData["make"];
  const { length } = array;
  if (isOnesArray(array)) return { values: undefined, fill: 1, length, make };
  if (length <= longestList) return { values: array.slice(), fill: 0, length, make };
  return hasOneValue(array) ? { values: undefined, fill: array[0], length, make } : undefined;
}

/** Compares bits, which distinguishes zeros of different signs, and NaNs. */
function hasOneValue({ buffer, byteOffset, byteLength, BYTES_PER_ELEMENT: bytes }: Float32Array): boolean {
  const words =
    bytes === 4 ? new Int32Array(buffer, byteOffset, byteLength / 4) : new Uint8Array(buffer, byteOffset, byteLength);
  const period = bytes === 4 ? 1 : bytes;
  for (let i = period; i < words.length; i++) if (words[i] !== words[i - period]) return false;
  return true;
}

/** Returns the values of a constant in a new array. @internal */
export function valuesOf({ values, fill, length, make }: ConstantData): ArrayLike<unknown> {
  if (values !== undefined) return (values as Float32Array).slice();
  const filled = new make(length);
  if (!Object.is(fill, 0)) filled.fill(fill);
  return filled;
}
