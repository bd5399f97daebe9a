import type { KernelAttributes } from "@remat/kernels";
import {
  cast,
  getKernel,
  greater,
  isNaN as isNotANumber,
  type KernelFunc,
  scalar,
  type Tensor,
  type TensorInfo,
  tidy,
} from "@tensorflow/tfjs-core";
import { bufferBackend } from "../current-backend.js";
import type { Session } from "../session.js";
import { isFunctionOfTfjs } from "./function-of-tfjs.js";
import type { KernelReplacement } from "./kernel-replacement.js";

/** Of `stepConfig.kernelFunc` of tfjs-node. */
const digest = "e3353bb152b2a9fb";

/**
 * Runs, in gradients, the kernel `Step` of the native backend in fewer steps: it is in the gradient of every ReLU.
 *
 * tfjs-node runs `IsNan`, fills an array of ones in JavaScript, runs `Fill`, `Greater`, `Select` of those two and `Select` of that and x where x is not a number. Here, for `alpha` 0, what
 * `Greater` says is cast: TensorFlow's `Cast` makes 1 and 0 of true and false. The last `Select` is the same, so what is not a number stays itself, sign and payload included.
 * Other backends compute `Step` in one go.
 *
 * @internal
 */
export function replaceStep(session: Session): void {
  const { engine, patches, replacements } = session;
  const { backendName = "none", backendInstance } = engine;
  if (bufferBackend(backendName, backendInstance).name !== "tensorflow") return;
  const config = getKernel("Step", backendName);
  if (config === undefined || replacements.has(config)) return;
  const isFake = backendInstance?.standsFor !== undefined;
  if (!isFake && !isFunctionOfTfjs(config.kernelFunc, digest)) return void replacements.set(config, undefined);
  const replacement: KernelReplacement = {
    isWanted(inputs, attributes) {
      const { x } = inputs as { readonly x: TensorInfo };
      const isAskedFor = session.alive && session.pass?.wanted.fasterGradients !== undefined;
      return isAskedFor && x.dtype === "float32" && attributes?.["alpha"] === 0;
    },
    run: (inputs) =>
      tidy(() => {
        const x = inputs["x"] as Tensor;
        const condition = isNotANumber(x);
        const e = cast(greater(x, scalar(0)), "float32");
        return engine.runKernel("Select", { condition, t: x, e }) as Tensor;
      }),
  };
  replacements.set(config, replacement);
  patches.patch(
    config,
    "kernelFunc",
    (original): KernelFunc =>
      (parameters) =>
        replacement.isWanted(parameters.inputs, parameters.attrs as KernelAttributes)
          ? replacement.run(parameters.inputs)
          : original(parameters),
  );
}
