import { backend_util, type TensorInfo } from "@tensorflow/tfjs-core";
import type { FakeBackend } from "../fake-backend.js";
import type { Infer, InferTable, X } from "./infer.js";
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
  backend: FakeBackend,
): backend_util.Conv2DInfo {
  refuseComplex(backend, x);
  if (x.shape.length !== 4) mismatch(backend, `x [${x.shape}] must have rank 4`);
  const [pad, dimRoundingMode] = paddingOf(given.pad, given.dimRoundingMode, backend);
  return fitting(
    backend_util.computePool2DInfo(x.shape as Shape4, filterSize, strides, 1, pad, dimRoundingMode),
    backend,
  );
}

const pool2D: Infer<X, Pool2D> = ({ x }, attributes, backend) => {
  const { filterHeight, filterWidth, inShape, outShape } = pool2DInfo(x, attributes, backend);
  if (backend.standsFor === "cpu" && filterHeight === 1 && filterWidth === 1 && sameShape(inShape, outShape)) {
    return backend.share(x, x.shape, x.dtype);
  }
  return backend.make(outShape, x.dtype);
};

/** The wasm backend averages into float32. */
const averagePool2D: Infer<X, Pool2D> = (inputs, attributes, backend) =>
  backend.standsFor === "wasm"
    ? backend.make(pool2DInfo(inputs.x, attributes, backend).outShape, "float32")
    : pool2D(inputs, attributes, backend);

const maxPoolWithArgmax: Infer<X, Pool2D> = ({ x }, { filterSize, strides, pad }, backend) => {
  const { outShape } = pool2DInfo(x, { filterSize, strides, pad }, backend);
  return [backend.make(outShape, x.dtype), backend.make(outShape, "int32")];
};

const pool3D: Infer<X, Pool3D> = ({ x }, { filterSize, strides, dataFormat, ...given }, backend) => {
  refuseComplex(backend, x);
  if (x.shape.length !== 5) mismatch(backend, `x [${x.shape}] must have rank 5`);
  const [pad, dimRoundingMode] = paddingOf(given.pad, given.dimRoundingMode, backend);
  const { outShape } = fitting(
    backend_util.computePool3DInfo(x.shape as Shape5, filterSize, strides, 1, pad, dimRoundingMode, dataFormat),
    backend,
  );
  return backend.make(outShape, "float32");
};

const poolGrad: Infer<{ dy: TensorInfo; input: TensorInfo }, Pool2D | Pool3D> = ({ dy, input }, _, backend) => {
  refuseComplex(backend, dy);
  refuseComplex(backend, input);
  return backend.make(input.shape, "float32");
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
