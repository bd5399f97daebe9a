import { getKernel, type KernelFunc, registerKernel, unregisterKernel } from "@tensorflow/tfjs-core";
import { isOwnKernel } from "../../first-seen-kernels.js";
import { conv2DBackpropFilter } from "./conv2d-backprop-filter.js";
import { conv3DBackpropFilter, conv3DBackpropInput } from "./conv3d-backprop.js";
import { depthwiseBackpropFilter, depthwiseBackpropInput } from "./depthwise-backprop.js";
import { unsortedSegmentSum } from "./unsorted-segment-sum.js";

const backendName = "wasm";

/** What tfjs-backend-wasm 4.22.0 lacks of the kernels that only gradients run, made of kernels that it has. */
const lacking: Readonly<Record<string, unknown>> = {
  Conv2DBackpropFilter: conv2DBackpropFilter,
  DepthwiseConv2dNativeBackpropFilter: depthwiseBackpropFilter,
  DepthwiseConv2dNativeBackpropInput: depthwiseBackpropInput,
  UnsortedSegmentSum: unsortedSegmentSum,
};

/**
 * In place of those that are wrong: `Conv3DBackpropInputV2` takes `filterDepth / strideDepth` for the end of a sum that should go on from where the window
 * begins, so it leaves terms out and reads memory before the filter, whatever lies there; both round the ends of a window the wrong way for strides above 1
 * (`src/cc/conv3d_impl.h`).
 */
const mended: Readonly<Record<string, unknown>> = {
  Conv3DBackpropFilterV2: conv3DBackpropFilter,
  Conv3DBackpropInputV2: conv3DBackpropInput,
};

/** Every kernel that is given to the backend, by its name. @internal */
export const wasmGradientKernels: Readonly<Record<string, unknown>> = { ...lacking, ...mended };

/**
 * Registers with tfjs what the backend `wasm` lacks to train convolutions and embeddings, or does wrong: the gradients of `conv2d`, `depthwiseConv2d`
 * and `conv3d`, and that of `gather`. `selectBackend({ for: "training" })` does so by itself. What the user has registered stays as it is.
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

/** Whether the kernel of that name is the one that is provided here. @internal */
export function isProvided(kernelName: string): boolean {
  const registered = getKernel(kernelName, backendName);
  return registered !== undefined && registered.kernelFunc === wasmGradientKernels[kernelName];
}
