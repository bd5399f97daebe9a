import * as tfc from "@tensorflow/tfjs-core";

/**
 * Functions whose gradient in TensorFlow.js differs from Keras' where they have no derivative: at zeros, ties and
 * borders. Their values are those of TensorFlow.js.
 */

type Unary = (x: tfc.Tensor) => tfc.Tensor;
type Reduce = (x: tfc.Tensor, axes: number[], keepDims?: boolean) => tfc.Tensor;

const when = (condition: tfc.Tensor): tfc.Tensor => tfc.cast(condition, "float32");

/** `value` with another gradient, computed from the gradient of its result and from its input. */
function withGradient(value: Unary, gradient: (dy: tfc.Tensor, x: tfc.Tensor) => tfc.Tensor): Unary {
  return tfc.customGrad((...args) => {
    const [x, save] = args as unknown as [tfc.Tensor, tfc.GradSaveFunc];
    save([x]);
    return { value: value(x), gradFunc: (dy: tfc.Tensor, [saved]: tfc.Tensor[]) => gradient(dy, saved as tfc.Tensor) };
  }) as Unary;
}

/** The magnitude, with gradient 0 at 0. In TensorFlow.js it is -1. */
export const abs: Unary = (x) => withGradient(tfc.abs, (dy, saved) => tfc.mul(dy, tfc.sign(saved)))(x);

/** `relu6`, with gradient 0 at 6. In TensorFlow.js it is 1. */
export const relu6: Unary = (x) =>
  withGradient(tfc.relu6, (dy, saved) => tfc.mul(dy, when(tfc.logicalAnd(tfc.greater(saved, 0), tfc.less(saved, 6)))))(
    x,
  );

const seluScale = 1.0507009873554805;
const seluAlpha = 1.6732632423543772;

/** SELU, with the gradient of positive numbers at 0. In TensorFlow.js it is that of negative numbers. */
export const selu: Unary = (x) =>
  withGradient(tfc.selu, (dy, saved) =>
    tfc.where(tfc.less(saved, 0), tfc.mul(tfc.mul(dy, seluScale * seluAlpha), tfc.exp(saved)), tfc.mul(dy, seluScale)),
  )(x);

/** PReLU, with gradient 0 at 0. In TensorFlow.js it is the slope of negative numbers. */
export function prelu(x: tfc.Tensor, slope: tfc.Tensor): tfc.Tensor {
  const run = tfc.customGrad((...args) => {
    const [input, alpha, save] = args as unknown as [tfc.Tensor, tfc.Tensor, tfc.GradSaveFunc];
    save([input, alpha]);
    const gradFunc = (dy: tfc.Tensor, saved: tfc.Tensor[]): tfc.Tensor[] => {
      const [given, by] = saved as [tfc.Tensor, tfc.Tensor];
      const isNegative = tfc.less(given, 0);
      const ofSlope = tfc.where(isNegative, tfc.mul(dy, given), tfc.zerosLike(dy));
      const ofInput = tfc.add(tfc.mul(dy, when(tfc.greater(given, 0))), tfc.mul(tfc.mul(dy, by), when(isNegative)));
      return [
        ofInput,
        tfc.reshape(tfc.sum(ofSlope, tfc.broadcast_util.getReductionAxes(by.shape, dy.shape)), by.shape),
      ];
    };
    return { value: tfc.prelu(input, alpha), gradFunc };
  });
  return run(x, slope);
}

/** A reduction to the largest or smallest element. Equal ones share the gradient. In TensorFlow.js each gets all of it. */
function sharedByTies(reduce: Reduce): Reduce {
  return (x, axes, keepDims = false) => {
    const run = tfc.customGrad((...args) => {
      const [input, save] = args as unknown as [tfc.Tensor, tfc.GradSaveFunc];
      const value = reduce(input, axes, keepDims);
      save([input, value]);
      const gradFunc = (dy: tfc.Tensor, [given, found]: tfc.Tensor[]): tfc.Tensor => {
        const kept = input.shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
        const isFound = when(tfc.equal(given as tfc.Tensor, tfc.reshape(found as tfc.Tensor, kept)));
        return tfc.mul(isFound, tfc.div(tfc.reshape(dy, kept), tfc.sum(isFound, axes, true)));
      };
      return { value, gradFunc };
    });
    return run(x);
  };
}

/** The largest element along axes, which are counted from the front. Equal ones share the gradient. */
export const max: Reduce = sharedByTies(tfc.max);

/** The smallest element along axes, which are counted from the front. Equal ones share the gradient. */
export const min: Reduce = sharedByTies(tfc.min);
