import type { Rows } from "@remat/trace";

/** Which tensors a weight update can free and when, as seen in a rehearsal. @internal */
export interface UpdateScript {
  /** Kernels of its ops, in order. */
  readonly kernels: readonly string[];
  /**
   * For each op, the tensors that nothing reads after it: `op` for the output of an op, `-1 - i` for the gradient at
   * index `i`.
   */
  readonly freedAfter: Rows;
}

/** The predicted update of an optimizer of TensorFlow.js. @internal */
export interface RehearsedUpdate {
  readonly script: UpdateScript;
  /**
   * Peak in bytes beyond existing data, if the script is followed. It covers new weights, temporaries, new slots and
   * scratch memory of kernels, and subtracts gradients after their last reader.
   */
  readonly mostBytes: number;
}

/** Encodes a gradient in the list of freed tensors. @internal */
export const gradientAt = (place: number): number => -1 - place;
