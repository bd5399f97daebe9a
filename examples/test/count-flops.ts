import type * as tf from "@tensorflow/tfjs";

type KernelInfo = Awaited<ReturnType<typeof tf.profile>>["kernels"][number];
type Shape = readonly number[];

/**
 * Returns the approximate number of floating-point operations of `run`: two for each multiplication in matrix products
 * and convolutions, forward and backward, and one for each output element of other kernels. It is never too low by much.
 */
export async function countFlops(engine: typeof tf, run: () => tf.TensorContainer): Promise<number> {
  const { kernels } = await engine.profile(() => run() as tf.Tensor);
  return kernels.reduce((total, kernel) => total + flopsOf(kernel), 0);
}

const size = (shape: Shape): number => shape.reduce((product, each) => product * each, 1);

function flopsOf({ name, inputShapes, outputShapes }: KernelInfo): number {
  const [a = [], b = []] = inputShapes as Shape[];
  const [out = []] = outputShapes as Shape[];
  switch (name) {
    case "BatchMatMul":
    case "_FusedMatMul": {
      // For matrices m×k and k×n of any transposition, the product of the three sizes is (mnk)².
      const batch = size(out.slice(0, -2));
      return 2 * batch * Math.sqrt((size(a) / batch) * (size(b) / batch) * (size(out) / batch));
    }
    case "Conv2D":
    case "FusedConv2D":
      return 2 * size(out) * size(b.slice(0, 3));
    case "Conv2DBackpropInput":
      return 2 * size(a) * size(b.slice(0, 3));
    case "Conv2DBackpropFilter":
      return 2 * size(b) * size(out.slice(0, 3));
    case "DepthwiseConv2dNative":
    case "FusedDepthwiseConv2D":
      return 2 * size(out) * size(b.slice(0, 2));
    case "DepthwiseConv2dNativeBackpropInput":
      return 2 * size(a) * size(b.slice(0, 2));
    case "DepthwiseConv2dNativeBackpropFilter":
      return 2 * size(b) * size(out.slice(0, 2));
    default:
      return (outputShapes as Shape[]).reduce((total, shape) => total + size(shape), 0);
  }
}
