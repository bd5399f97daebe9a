import { util } from "@tensorflow/tfjs-core";

/** As long as the longest that was asked for. */
let ones = new Float32Array(0);

/** Returns `length` ones, which nobody may write to: such arrays share one buffer. A backend that skips fills gets what tfjs would fill. @internal */
export function onesArray(length: number, skipsFills = false): Float32Array {
  if (skipsFills) return util.makeOnesTypedArray(length, "float32") as Float32Array;
  if (ones.length < length) ones = new Float32Array(length).fill(1);
  return ones.subarray(0, length);
}

/** Whether an array is one of those. @internal */
export function isOnesArray({ buffer, length }: Float32Array): boolean {
  return length > 0 && buffer === ones.buffer;
}

/** The buffer goes when no tensor has it any more. @internal */
export function forgetOnes(): void {
  ones = new Float32Array(0);
}
