import { type TensorInfo, util } from "@tensorflow/tfjs-core";
import type { ReplacedKernel } from "./kernel-replacement.js";

/**
 * tfjs-node makes TensorFlow run a `Cast` to the same dtype and a `Reshape` to the same shape, for which it also makes
 * a tensor with the shape. TensorFlow only passes on the input's buffer. The gradients of `Add` and `Sub` do this for
 * each operand with the sum's shape. The gradients of `Mul` and the divisions cast their saved tensors, and the
 * gradient of ReLU casts the result of `Step`. Here the output is on the input's data, like that of `Identity` on this
 * backend. Nothing is computed, so results are bitwise identical. On cpu, wasm, webgl and webgpu such kernels are
 * already free.
 *
 * This applies only to float32, since int32 in TensorFlow.js may be the bytes of an image in TensorFlow.
 */
const unchanged: Pick<ReplacedKernel, "backend" | "run"> = {
  backend: "tensorflow",
  run(engine, inputs) {
    const { dataId, shape, dtype } = xOf(inputs);
    engine.backendInstance?.incRef?.(dataId);
    return engine.makeTensorFromTensorInfo({ dataId, shape, dtype });
  },
};

/** `Cast` to float32. @internal */
export const castOnNative: ReplacedKernel = {
  ...unchanged,
  kernel: "Cast",
  digest: "e48a9283",
  isEqual: (inputs, attributes) => xOf(inputs).dtype === "float32" && attributes?.["dtype"] === "float32",
};

/** `Reshape` to the same shape. @internal */
export const reshapeOnNative: ReplacedKernel = {
  ...unchanged,
  kernel: "Reshape",
  digest: "b71db1b0",
  isEqual(inputs, attributes) {
    const { shape, dtype } = xOf(inputs);
    return dtype === "float32" && util.arraysEqual(shape, attributes?.["shape"] as number[]);
  },
};

const xOf = (inputs: object): TensorInfo => (inputs as { readonly x: TensorInfo }).x;
