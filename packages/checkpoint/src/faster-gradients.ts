import { type CloseMode, openDispatchMode } from "@remat/dispatch-hook";

/** Options of `fasterGradients`. */
export interface FasterGradientsOptions {
  /**
   * True to allow another order of additions in a sum, if the number of kernels cannot be reduced otherwise. This
   * changes the last bits of gradients. Default: false.
   */
  readonly reorder?: boolean;
}

/**
 * Computes some gradients of TensorFlow.js in fewer kernels from now on, with bitwise identical results. Returns a
 * function that ends it. It affects these gradients:
 *
 * - `tile`, which TensorFlow.js computes repeat by repeat and which every layer normalization uses (native, wasm and
 *   cpu)
 * - batch normalization, which then makes no copy of the variance as large as the input (all backends)
 * - the `Step` kernel in the gradient of ReLU, and each `Cast` and `Reshape` that changes nothing (native)
 *
 * `releaseEarly`, budgets, and plans made for them include this. With `reorder` the gradient of `tile` also becomes a
 * single sum on backends where no single kernel adds in order: webgl, webgpu, CUDA, and third-party backends.
 *
 * @example
 * const stop = fasterGradients();
 * await model.fit(x, y);
 * stop();
 */
export function fasterGradients({ reorder = false }: FasterGradientsOptions = {}): CloseMode {
  return openDispatchMode({ fasterGradients: reorder ? "reordered" : "equal" });
}
