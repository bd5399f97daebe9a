import { util } from "@tensorflow/tfjs-core";

/** As long as the longest array requested. */
let ones = new Float32Array(0);

/**
 * Returns `length` ones. The arrays share one buffer, so they must not be modified. A backend that skips fills gets a
 * TensorFlow.js array instead. @internal
 */
export function onesArray(length: number, skipsFills = false): Float32Array {
  if (skipsFills) return util.makeOnesTypedArray(length, "float32") as Float32Array;
  if (ones.length < length) ones = new Float32Array(length).fill(1);
  return ones.subarray(0, length);
}

/** Returns whether an array is one of those. @internal */
export function isOnesArray({ buffer, length }: Float32Array): boolean {
  return length > 0 && buffer === ones.buffer;
}

/** Drops the buffer, which is freed once no tensor uses it. @internal */
export function forgetOnes(): void {
  ones = new Float32Array(0);
}
