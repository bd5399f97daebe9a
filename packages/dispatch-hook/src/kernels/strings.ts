import type { TensorInfo } from "@tensorflow/tfjs-core";
import type { Infer, InferTable, X } from "./infer.js";
import { mismatch } from "./shapes.js";

const staticRegexReplace: Infer<X> = ({ x }, _, call) => call.make(x.shape, x.dtype);

const hashBucket: Infer<{ input: TensorInfo }, { numBuckets: number }> = ({ input }, { numBuckets }, call) => {
  if (input.dtype !== "string") mismatch(call, `the input is ${input.dtype}, not string`);
  if (numBuckets <= 0) mismatch(call, `there are ${numBuckets} buckets`);
  return call.make(input.shape, "int32");
};

const dependsOnData: Infer = (_, __, call) => call.dependsOnData();

/** Kernels on strings. */
export const stringKernels: InferTable = {
  StaticRegexReplace: staticRegexReplace,
  StringNGrams: dependsOnData,
  StringSplit: dependsOnData,
  StringToHashBucketFast: hashBucket,
};
