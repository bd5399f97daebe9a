import { getKernel } from "@tensorflow/tfjs-core";

/**
 * Kernels that only gradients run, for common layers. Source: the gradient functions of tfjs-core 4.22.0. All other
 * gradients run kernels that forward passes also run.
 */
const gradientKernels: readonly string[] = [
  "AvgPoolGrad",
  "Conv2DBackpropFilter",
  "Conv2DBackpropInput",
  "DepthwiseConv2dNativeBackpropFilter",
  "DepthwiseConv2dNativeBackpropInput",
  "EluGrad",
  "MaxPoolGrad",
  "UnsortedSegmentSum",
];

/** Returns those that `backend` lacks. Networks whose gradients need them cannot train on it. @internal */
export const missingGradientKernels = (backend: string): readonly string[] =>
  gradientKernels.filter((kernel) => getKernel(kernel, backend) === undefined);
