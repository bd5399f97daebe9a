import * as tfc from "@tensorflow/tfjs-core";
import type { Shape } from "../layer-note.js";
import { type Arguments, type Operation, shapeOf, TensorShape } from "./operation.js";

/** What tensors hold that were made of shapes: nothing else tells it without reading them, which fake mode cannot. */
const known = new WeakMap<tfc.Tensor, readonly number[]>();

/** Has a tensor remembered as made of sizes; returns it. */
export function withSizes(tensor: tfc.Tensor, sizes: readonly number[]): tfc.Tensor {
  known.set(tensor, sizes);
  return tensor;
}

/** Returns what a tensor is known to hold; undefined where nobody knows. */
export function sizesIn(tensor: tfc.Tensor): readonly number[] | undefined {
  return known.get(tensor);
}

/** Returns a shape that may be a tensor, or have some among its numbers: null for what nobody knows. */
export function givenSizes(shape: unknown): (number | null)[] {
  if (shape instanceof tfc.Tensor) return [...(known.get(shape) ?? Array<null>(shape.size).fill(null))];
  // Of a tensor that is yet to be only its own size is known.
  if (shape instanceof TensorShape) return Array<null>(shape[0] ?? 1).fill(null);
  const sizes: readonly unknown[] = Array.isArray(shape) ? shape : [shape];
  return sizes.map((size) => (typeof size === "number" ? size : (tensorSize(size) ?? null)));
}

const tensorSize = (size: unknown): number | undefined =>
  size instanceof tfc.Tensor ? known.get(size)?.[0] : undefined;

function filling(value: number): Operation {
  return {
    parameters: ["shape"],
    run: ({ shape }) => tfc.fill(allKnown(shape), value),
    shape: ({ shape }) => givenSizes(shape),
  };
}

function allKnown(shape: unknown): number[] {
  const sizes = givenSizes(shape);
  if (sizes.every((size) => size !== null)) return sizes;
  throw new Error("a shape that is computed of values of tensors");
}

/** Operations on shapes, and with shapes that were made of such. */
export const ofSizes: Readonly<Record<string, Operation>> = {
  shape: {
    parameters: ["x"],
    run: ({ x }) => {
      const { shape } = x as tfc.Tensor;
      // tfjs-layers hands numbers of 32 bits with a point on, and would convert any others, into tensors of which nobody knows.
      return withSizes(tfc.tensor1d(shape, "float32"), shape);
    },
    shape: ({ x }: Arguments) => [(x as Shape).length],
  },
  zeros: filling(0),
  ones: filling(1),
  broadcastTo: {
    parameters: ["x", "shape"],
    run: ({ x, shape }) => tfc.broadcastTo(x as tfc.Tensor, allKnown(shape)),
    shape: ({ x, shape }) => {
      const from = shapeOf(x);
      const sizes = givenSizes(shape);
      return sizes.map((size, i) => {
        const own = from[i - sizes.length + from.length] ?? null;
        return size ?? (own === 1 ? null : own);
      });
    },
  },
};
