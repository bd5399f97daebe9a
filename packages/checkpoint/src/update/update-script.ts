import type { Rows } from "@remat/trace";

/** What an update of the weights can free when, as a rehearsal has shown. @internal */
export interface UpdateScript {
  /** The kernels of its ops, in their order. */
  readonly kernels: readonly string[];
  /** By op, what nobody reads after it: `op` for what an op has made, `-1 - i` for the gradient at place `i`. */
  readonly freedAfter: Rows;
}

/** What an update by one of tfjs's own optimizers will do. @internal */
export interface RehearsedUpdate {
  readonly script: UpdateScript;
  /**
   * The most bytes that it holds at once, when that is followed, beyond what is there: new weights, temporaries, and the slots that it makes, without
   * gradients that have had their last reader, with the scratch of kernels.
   */
  readonly mostBytes: number;
}

/** Names a gradient among what is freed. @internal */
export const gradientAt = (place: number): number => -1 - place;
