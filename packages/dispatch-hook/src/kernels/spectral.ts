import type { TensorInfo } from "@tensorflow/tfjs-core";
import type { Infer, InferTable, X } from "./infer.js";
import { mismatch } from "./shapes.js";

interface Input {
  readonly input: TensorInfo;
}

const complex: Infer<{ real: TensorInfo; imag: TensorInfo }> = ({ real, imag }, _, call) =>
  call.makeComplex(real.shape, call.kept(real), call.kept(imag));

const part =
  (which: "real" | "imag"): Infer<Input> =>
  ({ input }, _, call) => {
    if (input.dtype !== "complex64") mismatch(call, `a ${input.dtype} tensor has no ${which} part`);
    return call.makeKnown(input.shape, "float32", call.part(input, which));
  };

const complexAbs: Infer<X> = ({ x }, _, call) => {
  if (x.dtype !== "complex64") mismatch(call, `a ${x.dtype} tensor is not complex`);
  return call.make(x.shape, "float32");
};

const fourier: Infer<Input> = ({ input }, _, call) => {
  if (input.dtype !== "complex64") mismatch(call, `a ${input.dtype} tensor is not complex`);
  return call.make(input.shape, "complex64");
};

/** Complex numbers and Fourier transforms. */
export const spectralKernels: InferTable = {
  Complex: complex,
  ComplexAbs: complexAbs,
  FFT: fourier,
  IFFT: fourier,
  Imag: part("imag"),
  Real: part("real"),
};
