import { backend_util, type TensorInfo } from "@tensorflow/tfjs-core";
import { type AB, type Infer, type InferTable, mismatch, type X } from "../../kernels/index.js";
import { plainRule } from "../../kernels/plain-rule.js";
import { fitting, refuseComplex } from "../../kernels/shapes.js";

/** Returns float32 for any dtype of x. */
function inFloat32(kernel: string): Infer<X> {
  const plain = plainRule(kernel);
  return (inputs, attributes, call) => {
    refuseComplex(call, inputs.x);
    return plain({ ...inputs, x: { ...inputs.x, dtype: "float32" } }, attributes, call);
  };
}

/** Supports float32 only. */
function ofFloat32(kernel: string): Infer<AB> {
  const plain = plainRule(kernel);
  return (inputs, attributes, call) => {
    for (const { dtype } of [inputs.a, inputs.b])
      if (dtype !== "float32") mismatch(call, `${dtype} tensors are not supported`);
    return plain(inputs, attributes, call);
  };
}

type Attributes3D = Readonly<Record<"filterSize" | "strides" | "pad" | "dimRoundingMode" | "dataFormat", never>>;

const pool3D: Infer<X, Attributes3D> = ({ x }, { filterSize, strides, pad, dimRoundingMode, dataFormat }, call) => {
  refuseComplex(call, x);
  const shape = x.shape as [number, number, number, number, number];
  const info = backend_util.computePool3DInfo(shape, filterSize, strides, 1, pad, dimRoundingMode, dataFormat);
  return call.make(fitting(info, call).outShape, x.dtype);
};

const poolGrad: Infer<{ dy: TensorInfo; input: TensorInfo }> = ({ dy, input }, _, call) => {
  refuseComplex(call, dy);
  refuseComplex(call, input);
  return call.make(input.shape, input.dtype);
};

const logicalNot: Infer<X> = ({ x }, _, call) => {
  refuseComplex(call, x);
  return call.make(x.shape, x.dtype);
};

const select: Infer<{ t: TensorInfo }> = ({ t }, _, call) => call.make(t.shape, t.dtype);

const softmax: Infer<{ logits: TensorInfo }> = ({ logits }, _, call) => {
  refuseComplex(call, logits);
  return call.make(logits.shape, logits.dtype);
};

/**
 * Kernels whose results have another dtype, and so another size, on wasm than on cpu. Also kernels that support fewer
 * dtypes.
 */
export const wasmOutputs: InferTable = {
  ...Object.fromEntries(
    ["Conv2D", "DepthToSpace", "DepthwiseConv2dNative", "Expm1", "FusedConv2D", "FusedDepthwiseConv2D"].map(
      (kernel) => [kernel, inFloat32(kernel)],
    ),
  ),
  ...Object.fromEntries(["BatchMatMul", "_FusedMatMul"].map((kernel) => [kernel, ofFloat32(kernel)])),
  AvgPool3D: pool3D,
  AvgPool3DGrad: poolGrad,
  AvgPoolGrad: poolGrad,
  LogicalNot: logicalNot,
  MaxPool3D: pool3D,
  MaxPool3DGrad: poolGrad,
  MaxPoolGrad: poolGrad,
  Select: select,
  Softmax: softmax,
};
