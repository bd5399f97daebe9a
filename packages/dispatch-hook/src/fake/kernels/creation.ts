import { type DataType, type TensorInfo, util } from "@tensorflow/tfjs-core";
import type { Infer, InferTable, X } from "./infer.js";
import { mismatch, refuseComplex } from "./shapes.js";

const fill: Infer<object, { shape: number[]; value: number | string; dtype?: DataType }> = (
  _,
  { shape, value, dtype },
  backend,
) => backend.make(shape, dtype ?? util.inferDtype(value));

const onesLike: Infer<X> = ({ x }, _, backend) => {
  if (x.dtype === "string") mismatch(backend, "strings have no one");
  return backend.make(x.shape, x.dtype);
};

/** Native has empty strings for zeros. */
const zerosLike: Infer<X> = ({ x }, _, backend) => {
  if (x.dtype === "string" && backend.standsFor !== "tensorflow") mismatch(backend, "strings have no zero");
  return backend.make(x.shape, x.dtype);
};

const linSpace: Infer<object, { num: number }> = (_, { num }, backend) => backend.make([num], "float32");

const range: Infer<object, { start: number; stop: number; step: number; dtype: "float32" | "int32" }> = (
  _,
  { start, stop, step, dtype },
  backend,
) => {
  const empty = start === stop || (start < stop && step < 0) || (stop < start && step > 1);
  return backend.make([empty ? 0 : Math.abs(Math.ceil((stop - start) / step))], dtype);
};

const oneHot: Infer<{ indices: TensorInfo }, { depth: number; dtype: DataType }> = (
  { indices },
  { depth, dtype },
  backend,
) => {
  refuseComplex(backend, indices);
  return backend.make([...indices.shape, depth], dtype);
};

const multinomial: Infer<{ logits: TensorInfo }, { numSamples: number }> = ({ logits }, { numSamples }, backend) => {
  refuseComplex(backend, logits);
  return backend.make([logits.shape[0], numSamples], "int32");
};

/** Kernels that make tensors out of attributes. */
export const creationKernels: InferTable = {
  Fill: fill,
  LinSpace: linSpace,
  Multinomial: multinomial,
  OneHot: oneHot,
  OnesLike: onesLike,
  Range: range,
  ZerosLike: zerosLike,
};
