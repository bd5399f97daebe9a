import type { DataType, TensorInfo } from "@tensorflow/tfjs-core";
import { type AB, type Infer, type InferTable, sizeOf, type X } from "../../kernels/index.js";
import { plainRule } from "../../kernels/plain-rule.js";
import { broadcast } from "../../kernels/shapes.js";

/**
 * Complex numbers are pairs of tensors on the cpu backend. Most kernels split them and join the results. A joined
 * tensor uses the arrays of its parts, but each part counts separately while the kernel runs, here and in the hook.
 */
const cast: Infer<X, { dtype: DataType }> = (inputs, attributes, call) => {
  const { x } = inputs;
  const { dtype } = attributes;
  if (x.dtype === dtype || x.dtype === "string" || dtype === "string")
    return plainRule("Cast")(inputs, attributes, call);
  if (dtype === "complex64") {
    const imag = call.make(x.shape, x.dtype);
    const real = call.run("Cast", { x }, { dtype: "float32" });
    const out = call.run("Complex", { real, imag });
    call.release(imag, real);
    return out;
  }
  if (x.dtype !== "complex64") return plainRule("Cast")(inputs, attributes, call);
  const real = call.run("Real", { input: x });
  const out = call.run("Cast", { x: real }, { dtype });
  call.release(real);
  return out;
};

const concat: Infer<TensorInfo[], { axis: number }> = (tensors, attributes, call) => {
  const filled = tensors.filter(({ shape }) => sizeOf(shape) > 0);
  if (filled.length < 2 || filled.some(({ dtype }) => dtype !== "complex64"))
    return plainRule("Concat")(tensors, attributes, call);
  const reals = filled.map((input) => call.run("Real", { input }));
  const imags = filled.map((input) => call.run("Imag", { input }));
  const real = call.run("Concat", reals, attributes);
  const imag = call.run("Concat", imags, attributes);
  const out = call.run("Complex", { real, imag });
  call.release(...reals, ...imags, real, imag);
  return out;
};

function filledLike(kernel: string): Infer<X> {
  const plain = plainRule(kernel);
  return (inputs, attributes, call) => {
    const { x } = inputs;
    if (x.dtype !== "complex64") return plain(inputs, attributes, call);
    const givenReal = call.run("Real", { input: x });
    const real = call.make(x.shape, "float32");
    const givenImag = call.run("Imag", { input: x });
    const imag = call.make(x.shape, "float32");
    const out = call.run("Complex", { real, imag });
    call.release(givenReal, real, givenImag, imag);
    return out;
  };
}

function arithmetic(kernel: string): Infer<AB> {
  const plain = plainRule(kernel);
  return (inputs, attributes, call) => {
    const { a, b } = inputs;
    if (a.dtype !== "complex64" && b.dtype !== "complex64") return plain(inputs, attributes, call);
    const shape = broadcast(a.shape, b.shape, call);
    const complexA = call.run("Cast", { x: a }, { dtype: "complex64" });
    const complexB = call.run("Cast", { x: b }, { dtype: "complex64" });
    const real = call.make(shape, "float32");
    const imag = call.make(shape, "float32");
    const out = call.run("Complex", { real, imag });
    call.release(complexA, complexB, real, imag);
    return out;
  };
}

/**
 * Kernels that take complex numbers on the cpu backend. FFT and IFFT are missing, because the memory of their recursion
 * in JavaScript is unknown.
 */
export const complexCpuScratch: InferTable = {
  Add: arithmetic("Add"),
  Cast: cast,
  Concat: concat,
  Multiply: arithmetic("Multiply"),
  OnesLike: filledLike("OnesLike"),
  Sub: arithmetic("Sub"),
  ZerosLike: filledLike("ZerosLike"),
};
