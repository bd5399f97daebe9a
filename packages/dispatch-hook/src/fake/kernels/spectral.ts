import type { TensorInfo } from "@tensorflow/tfjs-core";
import type { Infer, InferTable, X } from "./infer.js";
import { mismatch } from "./shapes.js";

interface Input {
  readonly input: TensorInfo;
}

const complex: Infer<{ real: TensorInfo; imag: TensorInfo }> = ({ real, imag }, _, backend) =>
  backend.makeComplex(real.shape, backend.kept(real), backend.kept(imag));

const part =
  (which: "real" | "imag"): Infer<Input> =>
  ({ input }, _, backend) => {
    if (input.dtype !== "complex64") mismatch(backend, `a ${input.dtype} tensor has no ${which} part`);
    return backend.makeKnown(input.shape, "float32", backend.part(input, which));
  };

const complexAbs: Infer<X> = ({ x }, _, backend) => {
  if (x.dtype !== "complex64") mismatch(backend, `a ${x.dtype} tensor is not complex`);
  return backend.make(x.shape, "float32");
};

const fourier: Infer<Input> = ({ input }, _, backend) => {
  if (input.dtype !== "complex64") mismatch(backend, `a ${input.dtype} tensor is not complex`);
  return backend.make(input.shape, "complex64");
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
