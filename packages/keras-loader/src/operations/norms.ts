import * as tfc from "@tensorflow/tfjs-core";
import type { Shape } from "../layer-note.js";
import { abs } from "./kinks.js";
import { type Arguments, axesOf, numberOf, type Operation } from "./operation.js";
import { reducedShape, variance } from "./reductions.js";

/** The order of a norm, given its name in numpy or TensorFlow. */
function orderOf(order: unknown): number {
  if (order === undefined || order === null || order === "euclidean" || order === "fro") return 2;
  if (typeof order === "number") return order;
  throw new Error(`the norm ${String(order)} is not supported; use a number or 'euclidean'`);
}

function norm(x: tfc.Tensor, order: number, axes: number[], keepDims: boolean): tfc.Tensor {
  if (order === 1) return tfc.sum(abs(x), axes, keepDims);
  if (order === 2) return tfc.sqrt(tfc.sum(tfc.square(x), axes, keepDims));
  return tfc.pow(tfc.sum(tfc.pow(abs(x), order), axes, keepDims), 1 / order);
}

/** Scales to length 1 if the squared length exceeds `epsilon`. Otherwise divides by the root of `epsilon`. */
const ofLengthOne = (x: tfc.Tensor, axes: number[], epsilon: number): tfc.Tensor =>
  tfc.mul(x, tfc.rsqrt(tfc.maximum(tfc.sum(tfc.square(x), axes, true), epsilon)));

/** Operations that compute norms along axes, and that scale by them. */
export const norms: Readonly<Record<string, Operation>> = {
  norm: {
    parameters: ["x", "order", "axis", "keepdims"],
    run: ({ x, order, axis, keepdims }) =>
      norm(x as tfc.Tensor, orderOf(order), axesOf(axis, (x as tfc.Tensor).rank), keepdims === true),
    shape: reducedShape,
  },
  l2Normalize: {
    parameters: ["x", "axis", "epsilon"],
    run: ({ x, axis, epsilon }) =>
      ofLengthOne(x as tfc.Tensor, axesOf(axis, (x as tfc.Tensor).rank), numberOf(epsilon, 1e-12)),
    shape: ({ x }) => x as Shape,
  },
  normalize: {
    parameters: ["x", "axis", "order", "epsilon"],
    run: ({ x, axis, order, epsilon }) => {
      const [tensor, by, least] = [x as tfc.Tensor, orderOf(order), numberOf(epsilon, 1e-12)];
      const axes = axesOf(axis ?? -1, tensor.rank);
      // As in Keras: the lower bound applies to the squares for order 2, and to the norm for others.
      if (by === 2) return ofLengthOne(tensor, axes, least ** 2);
      return tfc.div(tensor, tfc.maximum(norm(tensor, by, axes, true), least));
    },
    shape: ({ x }) => x as Shape,
  },
  moments: {
    parameters: ["x", "axis", "keepdims"],
    run: ({ x, axis, keepdims }) => {
      const tensor = x as tfc.Tensor;
      const axes = axesOf(axis, tensor.rank);
      return [tfc.mean(tensor, axes, keepdims === true), variance(tensor, axes, keepdims === true)];
    },
    shape: (args: Arguments) => [reducedShape(args), reducedShape(args)],
  },
};
