import type { DataEntry } from "../storage-bytes.js";

/** Values that JavaScript filled, in little memory: a short list, or one value many times. */
export interface ConstantData {
  readonly values: ArrayLike<unknown> | undefined;
  readonly fill: number;
  readonly length: number;
  readonly make: new (length: number) => ArrayLike<unknown> & { fill(value: number): unknown };
}

/** Longer lists are kept only if all their values are the same. */
const longestList = 1024;

/** What `entry` holds, if JavaScript filled it and it fits into little memory. @internal */
export function constantIn({ values }: DataEntry): ConstantData | undefined {
  if (values == null || !ArrayBuffer.isView(values)) return undefined;
  const array = values as unknown as Float32Array;
  const make = array.constructor as ConstantData["make"];
  const { length } = array;
  if (length <= longestList) return { values: array.slice(), fill: 0, length, make };
  const [first] = array;
  // Also tells zeros of different signs, and NaNs, apart.
  for (let i = 1; i < length; i++) if (!Object.is(array[i], first)) return undefined;
  return { values: undefined, fill: first, length, make };
}

/** @internal */
export function valuesOf({ values, fill, length, make }: ConstantData): ArrayLike<unknown> {
  if (values !== undefined) return (values as Float32Array).slice();
  const filled = new make(length);
  if (!Object.is(fill, 0)) filled.fill(fill);
  return filled;
}
