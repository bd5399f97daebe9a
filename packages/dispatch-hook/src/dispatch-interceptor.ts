import type { DataId, NamedTensorMap } from "@tensorflow/tfjs-core";
import type {
  GradientsCall,
  GradientsResult,
  NamedTensor,
  OpCall,
  RunGradients,
  RunNext,
  UpdateCall,
} from "./engine-records.js";
import type { KernelAttributes, KernelInputs, KernelOutput } from "./kernels/index.js";

/**
 * A mode that can change what happens. It runs around ops, passes and updates, or acts just before them. A method that
 * takes `next` must call it or return its own result.
 *
 * @example
 * // Times each kernel.
 * const timer: DispatchInterceptor = {
 *   dispatch(call, next) {
 *     const startedMs = performance.now();
 *     const output = next();
 *     console.log(call.kernel, performance.now() - startedMs);
 *     return output;
 *   },
 * };
 */
export interface DispatchInterceptor {
  /**
   * Runs between the engine and the kernel. The innermost mode comes first. It is not called for work outside of the
   * mode.
   */
  dispatch?(call: OpCall, next: RunNext): KernelOutput;
  /** Runs between the caller and the engine's forward and backward pass. */
  gradients?(call: GradientsCall, next: RunGradients): GradientsResult;
  /**
   * Runs between the caller and an update of the weights. If a class overrides `applyGradients` and calls the base
   * method, the call of the override is reported first.
   */
  applyGradients?(call: UpdateCall, next: () => void): void;
  /**
   * JavaScript has read `values`. It gets the value that this method returns. Some backends pass the data itself, not a
   * copy: see `copyIfShared`.
   */
  valuesRead?(dataId: DataId, values: unknown): unknown;

  /**
   * An op is about to be created from these inputs. No mode knows of it yet. A mode may run kernels here
   * (`replayKernel`).
   */
  opComing?(kernel: string, inputs: KernelInputs, attributes: KernelAttributes | undefined): void;
  /** JavaScript is about to create data of this size. A mode may evict data here. */
  dataComing?(bytes: number): void;
  /**
   * `applyGradients` is about to update the weights. Nothing has changed yet, and an error thrown here prevents the
   * update.
   */
  optimizerUpdateComing?(optimizer: object, gradients: NamedTensorMap | readonly NamedTensor[]): void;
  /** Another backend is about to be set. Nothing has changed yet, and an error thrown here prevents the change. */
  backendChanging?(name: string): void;
}
