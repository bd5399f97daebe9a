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
 * `Step` runs in the gradient of every ReLU. tfjs-node runs `IsNan`, fills an array of ones in JavaScript, and runs
 * `Fill`, `Greater`, and a `Select` between ones and filled values. A last `Select` takes x where x is NaN. Here, for
 * `alpha` 0, the result of `Greater` is cast: TensorFlow's `Cast` converts true and false to 1 and 0. The last `Select`
 * is the same, so NaNs keep their sign and payload. Other backends compute `Step` in one kernel.
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
