import * as tfc from "@tensorflow/tfjs-core";
import type { Shape } from "../layer-note.js";
import { type Arguments, type Operation, shapeOf, TensorShape } from "./operation.js";

/**
 * Values of tensors that were made from shapes. Without this table they would have to be read, which fake mode cannot
 * do.
 */
const known = new WeakMap<tfc.Tensor, readonly number[]>();

/** Records that a tensor was made from sizes. Returns the tensor. */
export function withSizes(tensor: tfc.Tensor, sizes: readonly number[]): tfc.Tensor {
  known.set(tensor, sizes);
  return tensor;
}

/** Returns the known values of a tensor. Undefined if they are unknown. */
export function sizesIn(tensor: tfc.Tensor): readonly number[] | undefined {
  return known.get(tensor);
}

/** Returns the sizes of a shape that may be a tensor, or contain tensors. null for unknown sizes. */
export function givenSizes(shape: unknown): (number | null)[] {
  if (shape instanceof tfc.Tensor) return [...(known.get(shape) ?? Array<null>(shape.size).fill(null))];
  // Only the size of a future tensor is known, not its values.
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
  throw new Error("a shape computed from tensor values is not supported");
}

/** Operations on shapes, and with shapes made from them. */
export const ofSizes: Readonly<Record<string, Operation>> = {
  shape: {
    parameters: ["x"],
    run: ({ x }) => {
      const { shape } = x as tfc.Tensor;
      // tfjs-layers passes float32 on unchanged. It would convert other dtypes to new tensors, whose values would be
      // unknown.
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
