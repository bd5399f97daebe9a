import { getKernel, type KernelFunc, registerKernel, unregisterKernel } from "@tensorflow/tfjs-core";
import { isOwnKernel } from "../../first-seen-kernels.js";
import { conv2DBackpropFilter } from "./conv2d-backprop-filter.js";
import { conv3DBackpropFilter, conv3DBackpropInput } from "./conv3d-backprop.js";
import { depthwiseBackpropFilter, depthwiseBackpropInput } from "./depthwise-backprop.js";
import { unsortedSegmentSum } from "./unsorted-segment-sum.js";

const backendName = "wasm";

/** Gradient kernels that tfjs-backend-wasm 4.22.0 lacks, composed of kernels that it has. */
const lacking: Readonly<Record<string, unknown>> = {
  Conv2DBackpropFilter: conv2DBackpropFilter,
  DepthwiseConv2dNativeBackpropFilter: depthwiseBackpropFilter,
  DepthwiseConv2dNativeBackpropInput: depthwiseBackpropInput,
  UnsortedSegmentSum: unsortedSegmentSum,
};

/**
 * Replacements for incorrect kernels. `Conv3DBackpropInputV2` uses `filterDepth / strideDepth` as the end of a sum that
 * should start where the window begins. So it leaves out terms and reads memory before the filter. Both kernels round
 * the ends of a window incorrectly for strides above 1 (`src/cc/conv3d_impl.h`).
 */
const mended: Readonly<Record<string, unknown>> = {
  Conv3DBackpropFilterV2: conv3DBackpropFilter,
  Conv3DBackpropInputV2: conv3DBackpropInput,
};

/** All kernels that are added to the backend, by name. @internal */
export const wasmGradientKernels: Readonly<Record<string, unknown>> = { ...lacking, ...mended };

/**
 * Registers kernels that the backend `wasm` lacks, or computes incorrectly, for training convolutions and embeddings:
 * the gradients of `conv2d`, `depthwiseConv2d`, `conv3d` and `gather`. `selectBackend({ for: "training" })` calls it.
 * Kernels that you have registered stay.
 *
 * @example
 * await tf.setBackend("wasm");
 * provideGradientKernels();
 */
export function provideGradientKernels(): void {
  for (const [kernelName, kernelFunc] of Object.entries(wasmGradientKernels)) {
    if (kernelName in mended && isOwnKernel(kernelName, backendName)) unregisterKernel(kernelName, backendName);
    if (getKernel(kernelName, backendName) === undefined)
      registerKernel({ kernelName, backendName, kernelFunc: kernelFunc as KernelFunc });
  }
}

/** Returns whether the registered kernel of that name is the one provided here. @internal */
export function isProvided(kernelName: string): boolean {
  const registered = getKernel(kernelName, backendName);
  return registered !== undefined && registered.kernelFunc === wasmGradientKernels[kernelName];
}
