import type { FasterGradients } from "@remat/trace";
import type { Tensor } from "@tensorflow/tfjs-core";
import type { KernelAttributes } from "../kernels/index.js";

/** Gradients that a mode requests for a pass. @internal */
export interface WantedGradients {
  readonly sharesOnes: boolean;
  readonly fasterGradients: FasterGradients | undefined;
}

/**
 * A gradient function with results bitwise identical to that of TensorFlow.js in less time. Each has a file that
 * describes the original and the replacement. The file also explains on which backends and for which shapes results are
 * identical, and why. Its test also compares special values. TensorFlow.js's function is recognized by its source text
 * (`gradients-of-tfjs.ts`), or by its actions (`acts-as-tfjs.ts`) if the test cases cover each branch that is replaced.
 *
 * @internal
 */
export interface ReplacedGradient {
  readonly kernel: string;
  /**
   * True if its own gradient also runs the same kernels as that of TensorFlow.js. Otherwise the original runs in
   * higher-order gradients.
   */
  readonly isDifferentiable: boolean;
  isWanted(wanted: WantedGradients): boolean;
  /** Returns the gradients by input. Undefined if they would differ, so that the original runs. */
  gradient(
    dy: Tensor,
    saved: readonly Tensor[],
    attributes: KernelAttributes | undefined,
    wanted: WantedGradients,
  ): Readonly<Record<string, () => Tensor>> | undefined;
}
