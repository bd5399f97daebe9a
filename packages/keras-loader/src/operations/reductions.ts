import * as tfc from "@tensorflow/tfjs-core";
import type { Shape } from "../layer-note.js";
import { alongLast } from "./elementwise.js";
import { max, min } from "./kinks.js";
import { type Arguments, axesOf, axisFromFront, type Operation } from "./operation.js";

type Reduce = (x: tfc.Tensor, axes: number[], keepDims: boolean) => tfc.Tensor;

const parameters = ["x", "axis", "keepdims"];

/** Returns the shape after a reduction along axes. */
export function reducedShape({ x, axis, keepdims }: Arguments): Shape {
  const shape = x as Shape;
  const gone = new Set(axesOf(axis, shape.length));
  return keepdims === true ? shape.map((size, i) => (gone.has(i) ? 1 : size)) : shape.filter((_, i) => !gone.has(i));
}

function reduction(run: Reduce): Operation {
  return {
    parameters,
    run: ({ x, axis, keepdims }) => run(x as tfc.Tensor, axesOf(axis, (x as tfc.Tensor).rank), keepdims === true),
    shape: reducedShape,
  };
}

function indexOf(run: (x: tfc.Tensor, axis: number) => tfc.Tensor): Operation {
  return {
    parameters,
    run: ({ x, axis, keepdims }) => {
      const tensor = x as tfc.Tensor;
      const isFlat = axis === undefined || axis === null;
      const at = isFlat ? 0 : axisFromFront(axis, tensor.rank);
      const found = run(isFlat ? tfc.reshape(tensor, [-1]) : tensor, at);
      if (keepdims !== true) return found;
      return isFlat
        ? tfc.reshape(
            found,
            tensor.shape.map(() => 1),
          )
        : tfc.expandDims(found, at);
    },
    shape: reducedShape,
  };
}

/** Returns the mean of the squared distances from the mean. */
export function variance(x: tfc.Tensor, axes: number[], keepDims: boolean): tfc.Tensor {
  // Not `squaredDifference`, whose gradient in TensorFlow.js does not reverse the broadcast.
  return tfc.mean(tfc.square(tfc.sub(x, tfc.mean(x, axes, true))), axes, keepDims);
}

/** Operations that reduce the elements along some axes to one number. */
export const reductions: Readonly<Record<string, Operation>> = {
  sum: reduction(tfc.sum),
  mean: reduction(tfc.mean),
  max: reduction(max),
  min: reduction(min),
  prod: reduction(tfc.prod),
  variance: reduction(variance),
  std: reduction((x, axes, keepDims) => tfc.sqrt(variance(x, axes, keepDims))),
  all: reduction((x, axes, keepDims) => tfc.all(tfc.cast(x, "bool"), axes, keepDims)),
  any: reduction((x, axes, keepDims) => tfc.any(tfc.cast(x, "bool"), axes, keepDims)),
  logSumExp: reduction(tfc.logSumExp),
  argmax: indexOf(tfc.argMax),
  argmin: indexOf(tfc.argMin),
  cumsum: {
    parameters: ["x", "axis"],
    // The gradient of tfjs-core's cumulative sum is wrong for all axes except for the last.
    run: ({ x, axis }) => alongLast(x as tfc.Tensor, axis ?? 0, (last) => tfc.cumsum(last, last.rank - 1)),
    shape: ({ x }) => x as Shape,
  },
};
