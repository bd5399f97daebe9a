import type { FasterGradients } from "@remat/trace";
import type { Tensor } from "@tensorflow/tfjs-core";
import type { KernelAttributes } from "../kernels/index.js";

/** What a mode wants of the gradients of a pass. @internal */
export interface WantedGradients {
  readonly sharesOnes: boolean;
  readonly fasterGradients: FasterGradients | undefined;
}

/**
 * A gradient function that gives what tfjs's own gives, to the bit, in less time. A file each, which says what tfjs does, what is done here, and on which
 * backends and for which shapes the bits are equal and why; its test compares the two on special values, too. Tfjs's own is known by its text, `gradients-of-tfjs.ts`, or by what it does,
 * `acts-as-tfjs.ts`, where its trials have each branch that is replaced.
 *
 * @internal
 */
export interface ReplacedGradient {
  readonly kernel: string;
  /** Whether its own gradient is that of tfjs's, too, kernel by kernel; otherwise tfjs's runs where a gradient is differentiated. */
  readonly isDifferentiable: boolean;
  isWanted(wanted: WantedGradients): boolean;
  /** Returns the gradients by input; undefined where they would not be those of tfjs, so that its own function runs. */
  gradient(
    dy: Tensor,
    saved: readonly Tensor[],
    attributes: KernelAttributes | undefined,
    wanted: WantedGradients,
  ): Readonly<Record<string, () => Tensor>> | undefined;
}
