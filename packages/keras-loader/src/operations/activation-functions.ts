import * as tfc from "@tensorflow/tfjs-core";
import type { Shape } from "../layer-note.js";
import { axisFromFront, numberOf, type Operation } from "./operation.js";

/** An elementwise activation with one numeric parameter. */
function activation(run: (x: tfc.Tensor, by: number) => tfc.Tensor, parameter: string, otherwise: number): Operation {
  return {
    parameters: ["x", parameter],
    run: (args) => run(args["x"] as tfc.Tensor, numberOf(args[parameter], otherwise)),
    shape: ({ x }) => x as Shape,
  };
}

/** 1 if an element is more than `by` away from 0, otherwise 0. Selecting by a comparison would have no gradient. */
const isBeyond = (x: tfc.Tensor, by: number): tfc.Tensor => tfc.step(tfc.sub(tfc.abs(x), by));

/** Less common activations of Keras 3. */
export const activationFunctions: Readonly<Record<string, Operation>> = {
  celu: activation(
    // As in Keras, whose gradient at 0 is the sum of both sides.
    (x, alpha) => tfc.add(tfc.maximum(x, 0), tfc.mul(alpha, tfc.expm1(tfc.div(tfc.minimum(x, 0), alpha)))),
    "alpha",
    1,
  ),
  hardTanh: activation((x) => tfc.clipByValue(x, -1, 1), "none", 0),
  hardShrink: activation((x, by) => tfc.mul(x, isBeyond(x, by)), "threshold", 0.5),
  softShrink: activation((x, by) => tfc.mul(tfc.sub(x, tfc.mul(tfc.sign(x), by)), isBeyond(x, by)), "threshold", 0.5),
  tanhShrink: activation((x) => tfc.sub(x, tfc.tanh(x)), "none", 0),
  squareplus: activation((x, b) => tfc.mul(tfc.add(x, tfc.sqrt(tfc.add(tfc.square(x), b))), 0.5), "b", 4),
  threshold: {
    parameters: ["x", "threshold", "value"],
    run: ({ x, threshold, value }) => {
      const tensor = x as tfc.Tensor;
      const isAbove = tfc.step(tfc.sub(tensor, numberOf(threshold, 0)));
      return tfc.add(tfc.mul(tensor, isAbove), tfc.mul(tfc.sub(1, isAbove), numberOf(value, 0)));
    },
    shape: ({ x }) => x as Shape,
  },
  /** The first half of an axis, each element times the sigmoid of its counterpart in the second half. */
  glu: {
    parameters: ["x", "axis"],
    run: ({ x, axis }) => {
      const tensor = x as tfc.Tensor;
      const [first, second] = tfc.split(tensor, 2, axisFromFront(axis, tensor.rank)) as [tfc.Tensor, tfc.Tensor];
      return tfc.mul(first, tfc.sigmoid(second));
    },
    shape: ({ x, axis }) => {
      const at = axisFromFront(axis, (x as Shape).length);
      return (x as Shape).map((size, i) => (i === at && size !== null ? size / 2 : size));
    },
  },
};
