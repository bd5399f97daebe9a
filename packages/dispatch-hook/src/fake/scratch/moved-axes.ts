import { backend_util, type TensorInfo, util } from "@tensorflow/tfjs-core";
import type { FakeBackend } from "../fake-backend.js";
import { refuseComplex } from "../kernels/shapes.js";

export type Axes = number | number[] | null | undefined;

/** The copy of `x` with `axes` moved to the end, which reductions and scans make first unless they are there already. */
export function movedAxes(x: TensorInfo, axes: Axes, backend: FakeBackend): TensorInfo | undefined {
  refuseComplex(backend, x);
  const parsed = util.parseAxisParam(axes as number[], x.shape);
  const order = backend_util.getAxesPermutation(parsed, x.shape.length);
  return order === null
    ? undefined
    : backend.make(
        order.map((axis) => x.shape[axis]),
        x.dtype,
      );
}

/** Lets go of those that there are. */
export function releaseAll(backend: FakeBackend, ...tensors: (TensorInfo | undefined)[]): void {
  for (const tensor of tensors) if (tensor !== undefined) backend.release(tensor);
}
