import type { DataType, TensorInfo } from "@tensorflow/tfjs-core";
import type { AB, Infer, InferTable, X } from "../kernels/infer.js";
import { broadcast, sizeOf } from "../kernels/shapes.js";
import { plainRule } from "./plain-rule.js";

/**
 * Complex numbers are pairs of tensors on the cpu backend: most kernels take them apart and put them together again. What is put together
 * stands on the arrays of its parts, but each counts for itself while the kernel runs, here as in the hook.
 */
const cast: Infer<X, { dtype: DataType }> = (inputs, attributes, backend) => {
  const { x } = inputs;
  const { dtype } = attributes;
  if (x.dtype === dtype || x.dtype === "string" || dtype === "string")
    return plainRule("Cast")(inputs, attributes, backend);
  if (dtype === "complex64") {
    const imag = backend.make(x.shape, x.dtype);
    const real = backend.run("Cast", { x }, { dtype: "float32" });
    const out = backend.run("Complex", { real, imag });
    backend.release(imag, real);
    return out;
  }
  if (x.dtype !== "complex64") return plainRule("Cast")(inputs, attributes, backend);
  const real = backend.run("Real", { input: x });
  const out = backend.run("Cast", { x: real }, { dtype });
  backend.release(real);
  return out;
};

const concat: Infer<TensorInfo[], { axis: number }> = (tensors, attributes, backend) => {
  const filled = tensors.filter(({ shape }) => sizeOf(shape) > 0);
  if (filled.length < 2 || filled.some(({ dtype }) => dtype !== "complex64"))
    return plainRule("Concat")(tensors, attributes, backend);
  const reals = filled.map((input) => backend.run("Real", { input }));
  const imags = filled.map((input) => backend.run("Imag", { input }));
  const real = backend.run("Concat", reals, attributes);
  const imag = backend.run("Concat", imags, attributes);
  const out = backend.run("Complex", { real, imag });
  backend.release(...reals, ...imags, real, imag);
  return out;
};

function filledLike(kernel: string): Infer<X> {
  const plain = plainRule(kernel);
  return (inputs, attributes, backend) => {
    const { x } = inputs;
    if (x.dtype !== "complex64") return plain(inputs, attributes, backend);
    const givenReal = backend.run("Real", { input: x });
    const real = backend.make(x.shape, "float32");
    const givenImag = backend.run("Imag", { input: x });
    const imag = backend.make(x.shape, "float32");
    const out = backend.run("Complex", { real, imag });
    backend.release(givenReal, real, givenImag, imag);
    return out;
  };
}

function arithmetic(kernel: string): Infer<AB> {
  const plain = plainRule(kernel);
  return (inputs, attributes, backend) => {
    const { a, b } = inputs;
    if (a.dtype !== "complex64" && b.dtype !== "complex64") return plain(inputs, attributes, backend);
    const shape = broadcast(a.shape, b.shape, backend);
    const complexA = backend.run("Cast", { x: a }, { dtype: "complex64" });
    const complexB = backend.run("Cast", { x: b }, { dtype: "complex64" });
    const real = backend.make(shape, "float32");
    const imag = backend.make(shape, "float32");
    const out = backend.run("Complex", { real, imag });
    backend.release(complexA, complexB, real, imag);
    return out;
  };
}

/** Kernels that take complex numbers on the cpu backend. FFT and IFFT are not among them: see `withoutScratch`. */
export const complexCpuScratch: InferTable = {
  Add: arithmetic("Add"),
  Cast: cast,
  Concat: concat,
  Multiply: arithmetic("Multiply"),
  OnesLike: filledLike("OnesLike"),
  Sub: arithmetic("Sub"),
  ZerosLike: filledLike("ZerosLike"),
};
