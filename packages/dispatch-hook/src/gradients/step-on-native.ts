import {
  cast,
  getKernel,
  greater,
  isNaN as isNotANumber,
  type KernelFunc,
  scalar,
  type Tensor,
  tidy,
} from "@tensorflow/tfjs-core";
import { bufferBackend } from "../current-backend.js";
import type { Session } from "../session.js";
import { isFunctionOfTfjs } from "./function-of-tfjs.js";

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
  const { engine, patches, replacedKernels } = session;
  const { backendName = "none", backendInstance } = engine;
  if (bufferBackend(backendName, backendInstance).name !== "tensorflow") return;
  const config = getKernel("Step", backendName);
  if (config === undefined || replacedKernels.has(config)) return;
  replacedKernels.add(config);
  const isFake = backendInstance?.standsFor !== undefined;
  if (!isFake && !isFunctionOfTfjs(config.kernelFunc, digest)) return;
  patches.patch(
    config,
    "kernelFunc",
    (original): KernelFunc =>
      (parameters) => {
        const { x } = parameters.inputs as { readonly x: Tensor };
        const isWanted = session.alive && session.pass?.wanted.fasterGradients !== undefined;
        if (!isWanted || x.dtype !== "float32" || parameters.attrs?.["alpha"] !== 0) return original(parameters);
        return tidy(() => {
          const condition = isNotANumber(x);
          const e = cast(greater(x, scalar(0)), "float32");
          return engine.runKernel("Select", { condition, t: x, e }) as Tensor;
        });
      },
  );
}
