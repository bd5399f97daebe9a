import { add, cast, expandDims, linalg, mul, ones, sub, type Tensor, type Tensor2D, tidy } from "@tensorflow/tfjs-core";
import type { CallOptions } from "./own-layer.js";

/** Which of what is attended to counts, 1 or 0; undefined: all of it. */
export type Mask = Tensor | undefined;

/** Added to a score so that it counts for nothing. */
const ofNoWeight = -1e9;

/** What attention is called with besides its inputs: which steps of each input count. */
export interface AttentionCall extends CallOptions {
  readonly mask?: readonly Mask[];
}

/** Returns `[1, from, to]`: 1 where `to` is no later than `from`. */
export function causal(from: number, to: number): Tensor {
  return tidy(() => expandDims(linalg.bandPart(ones([from, to]) as Tensor2D, -1, 0), 0));
}

/** Multiplies masks, each 0 or 1, that are there. */
export function both(found: readonly Mask[]): Mask {
  return found
    .filter((mask) => mask !== undefined)
    .reduce<Mask>((a, b) => (a === undefined ? b : mul(a, b as Tensor)), undefined);
}

/** Returns scores, so low where the mask is 0 that they have no part in the softmax. */
export function hideMasked(scores: Tensor, mask: Mask): Tensor {
  return mask === undefined ? scores : add(scores, mul(sub(1, mask), ofNoWeight));
}

/** Returns a mask as numbers, with one more axis. */
export function asNumbers(mask: Mask, axis: number): Mask {
  return mask === undefined ? undefined : expandDims(cast(mask, "float32"), axis);
}
