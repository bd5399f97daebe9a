import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";

/** Numbers as gradients have them, and those with which arithmetic is special. */
const special = [0, -0, Number.NaN, Infinity, -Infinity, 1e38, -1e38, 1e-45, -1e-45, 2 ** -126];

/** By share of special values: none, few, most. */
export const numbers: fc.Arbitrary<(size: number) => Float32Array> = fc
  .tuple(fc.constantFrom(0, 0.05, 0.6), fc.infiniteStream(fc.nat(2 ** 30)))
  .map(([share, stream]) => (size) => {
    const draw = () => (stream.next().value as number) / 2 ** 30;
    return Float32Array.from({ length: size }, () =>
      draw() < share ? special[Math.floor(draw() * special.length)] : (draw() - 0.5) * 10 ** (6 * draw() - 3),
    );
  });

/** A tensor with those numbers. */
export const tensorOf = (shape: readonly number[], values: (size: number) => Float32Array): tf.Tensor =>
  tf.tensor(values(tf.util.sizeFromShape([...shape])), [...shape], "float32");

/**
 * The bits of a tensor. Sign and payload of NaN are meaningful only on native; arithmetic in JavaScript and WebAssembly
 * produces any.
 */
export function bitsOf(tensor: tf.Tensor): Int32Array {
  const values = Float32Array.from(tensor.dataSync());
  const bits = new Int32Array(values.buffer);
  return tf.getBackend() === "tensorflow" ? bits : bits.map((each, i) => (Number.isNaN(values[i]) ? 0x7fc00000 : each));
}
