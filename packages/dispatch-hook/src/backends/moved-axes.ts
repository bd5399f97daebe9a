import { backend_util, type TensorInfo, util } from "@tensorflow/tfjs-core";
import { type KernelCall } from "../kernels/index.js";
import { refuseComplex } from "../kernels/shapes.js";

export type Axes = number | number[] | null | undefined;

/**
 * Returns the copy of `x` with `axes` moved to the end, which reductions and scans make unless the axes are already
 * there.
 */
export function movedAxes(x: TensorInfo, axes: Axes, call: KernelCall): TensorInfo | undefined {
  refuseComplex(call, x);
  const parsed = util.parseAxisParam(axes as number[], x.shape);
  const order = backend_util.getAxesPermutation(parsed, x.shape.length);
  return order === null
    ? undefined
    : call.make(
        order.map((axis) => x.shape[axis]),
        x.dtype,
      );
}

/** Frees those tensors that are defined. */
export function releaseAll(call: KernelCall, ...tensors: (TensorInfo | undefined)[]): void {
  for (const tensor of tensors) if (tensor !== undefined) call.release(tensor);
}
