import type { TensorInfo } from "@tensorflow/tfjs-core";
import type { Infer, InferTable, X } from "./infer.js";
import { mismatch } from "./shapes.js";

const staticRegexReplace: Infer<X> = ({ x }, _, backend) => backend.make(x.shape, x.dtype);

const hashBucket: Infer<{ input: TensorInfo }, { numBuckets: number }> = ({ input }, { numBuckets }, backend) => {
  if (input.dtype !== "string") mismatch(backend, `the input is ${input.dtype}, not string`);
  if (numBuckets <= 0) mismatch(backend, `there are ${numBuckets} buckets`);
  return backend.make(input.shape, "int32");
};

const dependsOnData: Infer = (_, __, backend) => backend.dependsOnData();

/** Kernels on strings. */
export const stringKernels: InferTable = {
  StaticRegexReplace: staticRegexReplace,
  StringNGrams: dependsOnData,
  StringSplit: dependsOnData,
  StringToHashBucketFast: hashBucket,
};
