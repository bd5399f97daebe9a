import {
  cast,
  greater,
  isNaN as isNotANumber,
  scalar,
  type Tensor,
  type TensorInfo,
  tidy,
} from "@tensorflow/tfjs-core";
import type { ReplacedKernel } from "./kernel-replacement.js";

/**
 * tfjs-node runs `IsNan`, fills an array of ones in JavaScript, runs `Fill`, `Greater`, `Select` of those two and `Select` of that and x where x is not a number: in the gradient of every
 * ReLU. Here, for `alpha` 0, what `Greater` says is cast: TensorFlow's `Cast` makes 1 and 0 of true and false. The last `Select` is the same, so what is not a number stays itself, sign
 * and payload included. Other backends compute `Step` in one go.
 *
 * @internal
 */
export const stepOnNative: ReplacedKernel = {
  backend: "tensorflow",
  kernel: "Step",
  digest: "99f237bb",
  isEqual(inputs, attributes) {
    const { x } = inputs as { readonly x: TensorInfo };
    return x.dtype === "float32" && attributes?.["alpha"] === 0;
  },
  run: (engine, inputs) =>
    tidy(() => {
      const x = inputs["x"] as Tensor;
      const condition = isNotANumber(x);
      const isPositive = greater(x, scalar(0));
      const e = cast(isPositive, "float32");
      isPositive.dispose();
      return engine.runKernel("Select", { condition, t: x, e }) as Tensor;
    }),
};
