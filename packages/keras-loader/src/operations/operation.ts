import type { Tensor } from "@tensorflow/tfjs-core";
import type { Shape } from "../layer-note.js";

/** Arguments of an operation by parameter: tensors, lists of them, and other values that Keras wrote. */
export type Arguments = Readonly<Record<string, unknown>>;

/**
 * A tensor function that Keras writes in a topology, such as `tf.concat`, `keras.ops.mean` or `x + y`. Parameters are
 * in Keras' order, tensors first.
 */
export interface Operation {
  readonly parameters: readonly string[];
  run(args: Arguments): Tensor | Tensor[];
  /**
   * Returns the shape of the result, where each tensor argument is its {@link TensorShape}. null means an unknown size.
   */
  shape(args: Arguments): Shape | Shape[];
}

/** Returns a numeric argument, or its default. */
export function numberOf(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

/** Returns axes as a list, each counted from the front of `rank` axes. By default all axes. */
export function axesOf(value: unknown, rank: number): number[] {
  const axes = value === undefined || value === null ? Array.from({ length: rank }, (_, i) => i) : [value].flat();
  return (axes as number[]).map((axis) => (axis < 0 ? axis + rank : axis));
}

/** Returns one axis, counted from the front of `rank` axes. */
export function axisFromFront(value: unknown, rank: number, otherwise = -1): number {
  const axis = numberOf(value, otherwise);
  return axis < 0 ? axis + rank : axis;
}

/** Returns the shape that two shapes are broadcast to. */
export function broadcastShapes(a: Shape, b: Shape): Shape {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const x = i < rank - a.length ? 1 : (a[i - rank + a.length] as number | null);
    const y = i < rank - b.length ? 1 : (b[i - rank + b.length] as number | null);
    if (x === 1) return y;
    if (y === 1) return x;
    return x ?? y;
  });
}

/** Returns the product of sizes, or null if one is unknown. */
export function countOf(sizes: Shape): number | null {
  return sizes.reduce<number | null>((sum, size) => (sum === null || size === null ? null : sum * size), 1);
}

/** The shape of a tensor argument. A separate class, because a constant may also be a list of numbers. */
export class TensorShape extends Array<number | null> {
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }
}

/** Returns the shape of a tensor, or of a constant: a number or nested lists of numbers. */
export function shapeOf(value: unknown): Shape {
  if (value instanceof TensorShape) return value;
  return Array.isArray(value) ? [value.length, ...shapeOf(value[0])] : [];
}
