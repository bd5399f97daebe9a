import { getKernel, type KernelFunc, registerKernel } from "@tensorflow/tfjs-core";
import { conv2DBackpropFilter } from "./conv2d-backprop-filter.js";
import { depthwiseBackpropFilter, depthwiseBackpropInput } from "./depthwise-backprop.js";
import { unsortedSegmentSum } from "./unsorted-segment-sum.js";

/** What tfjs-backend-wasm 4.22.0 lacks of the kernels that only gradients run, made of kernels that it has. @internal */
export const wasmGradientKernels: Readonly<Record<string, unknown>> = {
  Conv2DBackpropFilter: conv2DBackpropFilter,
  DepthwiseConv2dNativeBackpropFilter: depthwiseBackpropFilter,
  DepthwiseConv2dNativeBackpropInput: depthwiseBackpropInput,
  UnsortedSegmentSum: unsortedSegmentSum,
};

/**
 * Registers with tfjs what the backend `wasm` lacks to train convolutions and embeddings: the gradients of `conv2d` and `depthwiseConv2d`, and that of
 * `gather`. `selectBackend({ for: "training" })` does so by itself. A kernel that is registered stays as it is.
 *
 * @example
 * await tf.setBackend("wasm");
 * provideGradientKernels();
 */
export function provideGradientKernels(): void {
  for (const [kernelName, kernelFunc] of Object.entries(wasmGradientKernels))
    if (getKernel(kernelName, "wasm") === undefined)
      registerKernel({ kernelName, backendName: "wasm", kernelFunc: kernelFunc as KernelFunc });
}

/** Whether the kernel of that name is, or will be, the one that is provided here. @internal */
export function isKernelProvided(kernelName: string): boolean {
  const registered = getKernel(kernelName, "wasm");
  return registered === undefined || registered.kernelFunc === wasmGradientKernels[kernelName];
}
