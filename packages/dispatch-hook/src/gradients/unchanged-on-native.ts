import { type TensorInfo, util } from "@tensorflow/tfjs-core";
import type { ReplacedKernel } from "./kernel-replacement.js";

/**
 * tfjs-node has TensorFlow run a `Cast` to the dtype that there is, and a `Reshape` to the shape that there is, for which it makes a tensor of the shape besides: TensorFlow hands the input's buffer on. The
 * gradients of `Add` and `Sub` do so for each operand of the sum's shape, those of `Mul` and of the divisions cast what they saved, and ReLU's what `Step` has made. Here
 * the output is on the input's data, as that of `Identity` is on this backend: nothing is computed, so the bits are the input's. On cpu, wasm, webgl and webgpu such kernels do no more anyway.
 *
 * Of float32 alone: what tfjs calls int32 may be an image's bytes to TensorFlow.
 */
const unchanged: Pick<ReplacedKernel, "backend" | "run"> = {
  backend: "tensorflow",
  run(engine, inputs) {
    const { dataId, shape, dtype } = xOf(inputs);
    engine.backendInstance?.incRef?.(dataId);
    return engine.makeTensorFromTensorInfo({ dataId, shape, dtype });
  },
};

/** @internal */
export const castOnNative: ReplacedKernel = {
  ...unchanged,
  kernel: "Cast",
  digest: "e48a9283",
  isEqual: (inputs, attributes) => xOf(inputs).dtype === "float32" && attributes?.["dtype"] === "float32",
};

/** @internal */
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
