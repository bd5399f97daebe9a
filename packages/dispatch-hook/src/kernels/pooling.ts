import { backend_util, type TensorInfo } from "@tensorflow/tfjs-core";
import type { Infer, InferTable, X } from "./infer.js";
import type { KernelCall } from "./kernel-call.js";
import { fitting, mismatch, paddingOf, refuseComplex, sameShape } from "./shapes.js";

type Shape4 = [number, number, number, number];
type Shape5 = [number, number, number, number, number];

interface Pool2D {
  readonly filterSize: [number, number] | number;
  readonly strides: [number, number] | number;
  readonly pad: "valid" | "same" | number | backend_util.ExplicitPadding;
  readonly dimRoundingMode?: "floor" | "round" | "ceil";
}

interface Pool3D {
  readonly filterSize: [number, number, number] | number;
  readonly strides: [number, number, number] | number;
  readonly pad: "valid" | "same" | number;
  readonly dimRoundingMode?: "floor" | "round" | "ceil";
  readonly dataFormat?: "NDHWC" | "NCDHW";
}

function pool2DInfo(
  x: TensorInfo,
  { filterSize, strides, ...given }: Pool2D,
  call: KernelCall,
): backend_util.Conv2DInfo {
  refuseComplex(call, x);
  if (x.shape.length !== 4) mismatch(call, `x [${x.shape}] must have rank 4`);
  const [pad, dimRoundingMode] = paddingOf(given.pad, given.dimRoundingMode, call);
  return fitting(backend_util.computePool2DInfo(x.shape as Shape4, filterSize, strides, 1, pad, dimRoundingMode), call);
}

const pool2D: Infer<X, Pool2D> = ({ x }, attributes, call) => {
  const { filterHeight, filterWidth, inShape, outShape } = pool2DInfo(x, attributes, call);
  if (call.traits.unitPoolingShares && filterHeight === 1 && filterWidth === 1 && sameShape(inShape, outShape)) {
    return call.share(x, x.shape, x.dtype);
  }
  return call.make(outShape, x.dtype);
};

const averagePool2D: Infer<X, Pool2D> = (inputs, attributes, call) =>
  call.traits.averagesInFloat32
    ? call.make(pool2DInfo(inputs.x, attributes, call).outShape, "float32")
    : pool2D(inputs, attributes, call);

const maxPoolWithArgmax: Infer<X, Pool2D> = ({ x }, { filterSize, strides, pad }, call) => {
  const { outShape } = pool2DInfo(x, { filterSize, strides, pad }, call);
  return [call.make(outShape, x.dtype), call.make(outShape, "int32")];
};

const pool3D: Infer<X, Pool3D> = ({ x }, { filterSize, strides, dataFormat, ...given }, call) => {
  refuseComplex(call, x);
  if (x.shape.length !== 5) mismatch(call, `x [${x.shape}] must have rank 5`);
  const [pad, dimRoundingMode] = paddingOf(given.pad, given.dimRoundingMode, call);
  const { outShape } = fitting(
    backend_util.computePool3DInfo(x.shape as Shape5, filterSize, strides, 1, pad, dimRoundingMode, dataFormat),
    call,
  );
  return call.make(outShape, "float32");
};

const poolGrad: Infer<{ dy: TensorInfo; input: TensorInfo }, Pool2D | Pool3D> = ({ dy, input }, _, call) => {
  refuseComplex(call, dy);
  refuseComplex(call, input);
  return call.make(input.shape, "float32");
};

/** Pooling and its gradients. */
export const poolingKernels: InferTable = {
  AvgPool: averagePool2D,
  AvgPool3D: pool3D,
  AvgPool3DGrad: poolGrad,
  AvgPoolGrad: poolGrad,
  MaxPool: pool2D,
  MaxPool3D: pool3D,
  MaxPool3DGrad: poolGrad,
  MaxPoolGrad: poolGrad,
  MaxPoolWithArgmax: maxPoolWithArgmax,
};
