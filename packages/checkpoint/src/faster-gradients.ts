import { type CloseMode, openDispatchMode } from "@remat/dispatch-hook";

export interface FasterGradientsOptions {
  /** Whether sums may also be added in another order, where no other way is shorter: the last bits of gradients are then others. */
  readonly reorder?: boolean;
}

/**
 * Computes gradients that are needlessly long in tfjs in fewer kernels, to the same bits, from here on; returns what ends it. What it reaches: the gradient of
 * `tile`, which tfjs computes repeat by repeat and every layer normalization runs (on native, wasm and cpu); that of batch normalization, without a
 * copy of the variance as large as the input (everywhere); the kernel `Step` in that of ReLUs, and each `Cast` and `Reshape` that changes nothing
 * (native).
 *
 * `releaseEarly`, budgets, and plans that were made for it, do so by themselves. With `reorder` the gradient of `tile` is one sum where
 * no one kernel adds in order: on webgl and webgpu, on CUDA, and on backends that remat does not know.
 *
 * @example
 * const stop = fasterGradients();
 * await model.fit(x, y);
 * stop();
 */
export function fasterGradients({ reorder = false }: FasterGradientsOptions = {}): CloseMode {
  return openDispatchMode({ fasterGradients: reorder ? "reordered" : "equal" });
}
