import { add, cast, expandDims, linalg, mul, ones, sub, type Tensor, type Tensor2D, tidy } from "@tensorflow/tfjs-core";
import type { CallOptions } from "./own-layer.js";

/** Positions that attention may use, 1 or 0. Undefined means all. */
export type Mask = Tensor | undefined;

/** Added to a score so that its weight is zero. */
const ofNoWeight = -1e9;

/** Call options of attention: the masks of each input. */
export interface AttentionCall extends CallOptions {
  readonly mask?: readonly Mask[];
}

/** Returns a mask `[1, from, to]` that is 1 if `to` is not later than `from`. */
export function causal(from: number, to: number): Tensor {
  return tidy(() => expandDims(linalg.bandPart(ones([from, to]) as Tensor2D, -1, 0), 0));
}

/** Multiplies those masks that are defined. Each is 0 or 1. */
export function both(found: readonly Mask[]): Mask {
  return found
    .filter((mask) => mask !== undefined)
    .reduce<Mask>((a, b) => (a === undefined ? b : mul(a, b as Tensor)), undefined);
}

/** Lowers scores where the mask is 0, so far that the softmax makes them 0. */
export function hideMasked(scores: Tensor, mask: Mask): Tensor {
  return mask === undefined ? scores : add(scores, mul(sub(1, mask), ofNoWeight));
}

/** Returns a mask as numbers, with an additional axis. */
export function asNumbers(mask: Mask, axis: number): Mask {
  return mask === undefined ? undefined : expandDims(cast(mask, "float32"), axis);
}
