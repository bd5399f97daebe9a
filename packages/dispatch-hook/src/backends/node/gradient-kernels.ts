import { getKernel } from "@tensorflow/tfjs-core";

/**
 * The kernels that only gradients run, of the layers that networks are commonly made of. Source: the gradient functions of tfjs-core 4.22.0; all others run
 * kernels that forward passes run, too.
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

/** Those that `backend` has not registered: on it, nothing trains whose gradients run them. @internal */
export const missingGradientKernels = (backend: string): readonly string[] =>
  gradientKernels.filter((kernel) => getKernel(kernel, backend) === undefined);
