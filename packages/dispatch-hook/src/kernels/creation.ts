import { type DataType, type TensorInfo, util } from "@tensorflow/tfjs-core";
import type { Infer, InferTable, X } from "./infer.js";
import { mismatch, refuseComplex } from "./shapes.js";

const fill: Infer<object, { shape: number[]; value: number | string; dtype?: DataType }> = (
  _,
  { shape, value, dtype },
  call,
) => call.make(shape, dtype ?? util.inferDtype(value));

const onesLike: Infer<X> = ({ x }, _, call) => {
  if (x.dtype === "string") mismatch(call, "string tensors have no ones");
  return call.make(x.shape, x.dtype);
};

/** The native backend uses empty strings for zeros. */
const zerosLike: Infer<X> = ({ x }, _, call) => {
  if (x.dtype === "string" && !call.traits.makesEmptyStrings) mismatch(call, "string tensors have no zeros");
  return call.make(x.shape, x.dtype);
};

const linSpace: Infer<object, { num: number }> = (_, { num }, call) => call.make([num], "float32");

const range: Infer<object, { start: number; stop: number; step: number; dtype: "float32" | "int32" }> = (
  _,
  { start, stop, step, dtype },
  call,
) => {
  const empty = start === stop || (start < stop && step < 0) || (stop < start && step > 1);
  return call.make([empty ? 0 : Math.abs(Math.ceil((stop - start) / step))], dtype);
};

const oneHot: Infer<{ indices: TensorInfo }, { depth: number; dtype: DataType }> = (
  { indices },
  { depth, dtype },
  call,
) => {
  refuseComplex(call, indices);
  return call.make([...indices.shape, depth], dtype);
};

const multinomial: Infer<{ logits: TensorInfo }, { numSamples: number }> = ({ logits }, { numSamples }, call) => {
  refuseComplex(call, logits);
  return call.make([logits.shape[0], numSamples], "int32");
};

/** Kernels that make tensors from attributes. */
export const creationKernels: InferTable = {
  Fill: fill,
  LinSpace: linSpace,
  Multinomial: multinomial,
  OneHot: oneHot,
  OnesLike: onesLike,
  Range: range,
  ZerosLike: zerosLike,
};
