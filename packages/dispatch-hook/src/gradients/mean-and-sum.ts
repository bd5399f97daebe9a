import { div, mul, reshape, type Tensor, util } from "@tensorflow/tfjs-core";
import { engineInternals } from "../engine-internals.js";
import { onesArray } from "./ones-array.js";
import type { ReplacedGradient } from "./replaced-gradient.js";

// TensorFlow.js multiplies by as many ones as the input has elements, in a new array that JavaScript fills each time
// (engine rule 13). Here the ones are views of one array. Kernels and values stay the same on every backend.

/** Gradient of `Mean`. @internal */
export const meanGradient: ReplacedGradient = {
  kernel: "Mean",
  isDifferentiable: true,
  isWanted: ({ sharesOnes }) => sharesOnes,
  gradient: (dy, [x], attributes) => ({
    x: () => {
      const axes = axesOf(x, attributes?.["axis"]);
      const reduced = axes.map((axis) => x.shape[axis]);
      return div(mul(withAxes(dy, x, axes), onesLike(x)), util.sizeFromShape(reduced));
    },
  }),
};

/** Gradient of `Sum`. @internal */
export const sumGradient: ReplacedGradient = {
  kernel: "Sum",
  isDifferentiable: true,
  isWanted: ({ sharesOnes }) => sharesOnes,
  gradient: (dy, [x], attributes) => {
    const dx = mul(withAxes(dy, x, axesOf(x, attributes?.["axis"])), onesLike(x));
    return { x: () => dx };
  },
};

const axesOf = ({ shape }: Tensor, axis: unknown): readonly number[] => util.parseAxisParam(axis as number[], shape);

function withAxes(dy: Tensor, x: Tensor, axes: readonly number[]): Tensor {
  const shape = x.shape.slice();
  for (const axis of axes) shape[axis] = 1;
  return reshape(dy, shape);
}

function onesLike({ size, shape }: Tensor): Tensor {
  const engine = engineInternals();
  return engine.makeTensor(onesArray(size, engine.backendInstance?.skipsFills), shape, "float32");
}
