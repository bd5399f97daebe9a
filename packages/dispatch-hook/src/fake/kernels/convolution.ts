import { backend_util, type TensorInfo } from "@tensorflow/tfjs-core";
import type { FakeBackend } from "../fake-backend.js";
import { type FusedAttributes, type FusedInputs, fuse } from "./activation.js";
import type { Infer, InferTable, X } from "./infer.js";
import { fitting, mismatch, paddingOf, refuseComplex } from "./shapes.js";

type Shape4 = [number, number, number, number];
type Shape5 = [number, number, number, number, number];

/** Attributes of a convolution in two dimensions and of its gradients. */
interface Conv2D {
  readonly strides: [number, number] | number;
  readonly pad: "valid" | "same" | number | backend_util.ExplicitPadding;
  readonly dataFormat?: "NHWC" | "NCHW";
  readonly dilations?: [number, number] | number;
  readonly dimRoundingMode?: "floor" | "round" | "ceil";
}

interface Filtered extends X {
  readonly filter: TensorInfo;
}

function conv2DInfo(
  x: number[],
  filter: number[],
  attributes: Conv2D,
  dilations: Conv2D["dilations"],
  backend: FakeBackend,
): backend_util.Conv2DInfo {
  if (x.length !== 4 || filter.length !== 4) mismatch(backend, `x [${x}] and filter [${filter}] must have rank 4`);
  const { strides, dataFormat } = attributes;
  const [pad, dimRoundingMode] = paddingOf(attributes.pad, attributes.dimRoundingMode, backend);
  const format = backend_util.convertConv2DDataFormat(dataFormat ?? "NHWC");
  return fitting(
    backend_util.computeConv2DInfo(
      x as Shape4,
      filter as Shape4,
      strides,
      dilations ?? 1,
      pad,
      dimRoundingMode,
      false,
      format,
    ),
    backend,
  );
}

const conv2D: Infer<Filtered, Conv2D> = ({ x, filter }, attributes, backend) => {
  refuseComplex(backend, x);
  return backend.make(conv2DInfo(x.shape, filter.shape, attributes, attributes.dilations, backend).outShape, x.dtype);
};

const fusedConv2D: Infer<Filtered & FusedInputs, Conv2D & FusedAttributes> = (inputs, attributes, backend) => {
  const { x, filter } = inputs;
  refuseComplex(backend, x);
  const { outShape } = conv2DInfo(x.shape, filter.shape, attributes, attributes.dilations, backend);
  return fuse(outShape, x.dtype, inputs, attributes, attributes.dataFormat === "NCHW", backend);
};

const conv2DBackpropFilter: Infer<X & { dy: TensorInfo }, Conv2D & { filterShape: Shape4 }> = (
  { x, dy },
  attributes,
  backend,
) => {
  refuseComplex(backend, x);
  refuseComplex(backend, dy);
  return backend.make(conv2DInfo(x.shape, attributes.filterShape, attributes, 1, backend).filterShape, "float32");
};

const conv2DBackpropInput: Infer<{ dy: TensorInfo; filter: TensorInfo }, Conv2D & { inputShape: Shape4 }> = (
  { dy, filter },
  attributes,
  backend,
) => {
  refuseComplex(backend, dy);
  return backend.make(conv2DInfo(attributes.inputShape, filter.shape, attributes, 1, backend).inShape, "float32");
};

function depthwiseInfo(
  x: number[],
  filter: number[],
  attributes: Conv2D,
  backend: FakeBackend,
): backend_util.Conv2DInfo {
  if (x.length !== 4 || filter.length !== 4) mismatch(backend, `x [${x}] and filter [${filter}] must have rank 4`);
  const { strides } = attributes;
  const [pad, dimRoundingMode] = paddingOf(attributes.pad, attributes.dimRoundingMode, backend);
  const dilations = attributes.dilations ?? 1;
  if (!backend_util.eitherStridesOrDilationsAreOne(strides, dilations)) {
    mismatch(backend, `strides ${strides} and dilations ${dilations} are both above 1`);
  }
  return fitting(
    backend_util.computeConv2DInfo(x as Shape4, filter as Shape4, strides, dilations, pad, dimRoundingMode, true),
    backend,
  );
}

const depthwise: Infer<Filtered, Conv2D> = ({ x, filter }, attributes, backend) => {
  refuseComplex(backend, x);
  return backend.make(depthwiseInfo(x.shape, filter.shape, attributes, backend).outShape, x.dtype);
};

const fusedDepthwise: Infer<Filtered & FusedInputs, Conv2D & FusedAttributes> = (inputs, attributes, backend) => {
  const { x, filter } = inputs;
  refuseComplex(backend, x);
  return fuse(
    depthwiseInfo(x.shape, filter.shape, attributes, backend).outShape,
    x.dtype,
    inputs,
    attributes,
    false,
    backend,
  );
};

const depthwiseBackpropFilter: Infer<X & { dy: TensorInfo }, Conv2D & { filterShape: Shape4 }> = (
  { x },
  attributes,
  backend,
) => {
  refuseComplex(backend, x);
  return backend.make(depthwiseInfo(x.shape, attributes.filterShape, attributes, backend).filterShape, "float32");
};

const depthwiseBackpropInput: Infer<{ dy: TensorInfo; filter: TensorInfo }, Conv2D & { inputShape: Shape4 }> = (
  { dy, filter },
  attributes,
  backend,
) => {
  refuseComplex(backend, dy);
  return backend.make(depthwiseInfo(attributes.inputShape, filter.shape, attributes, backend).inShape, "float32");
};

interface Conv3D {
  readonly strides: [number, number, number] | number;
  readonly pad: "valid" | "same";
  readonly dilations?: [number, number, number] | number;
}

function conv3DInfo(
  x: number[],
  filter: number[],
  attributes: Conv3D,
  dilations: Conv3D["dilations"],
  backend: FakeBackend,
): backend_util.Conv3DInfo {
  if (x.length !== 5 || filter.length !== 5) mismatch(backend, `x [${x}] and filter [${filter}] must have rank 5`);
  return fitting(
    backend_util.computeConv3DInfo(x as Shape5, filter as Shape5, attributes.strides, dilations ?? 1, attributes.pad),
    backend,
  );
}

const conv3D: Infer<Filtered, Conv3D> = ({ x, filter }, attributes, backend) => {
  refuseComplex(backend, x);
  return backend.make(conv3DInfo(x.shape, filter.shape, attributes, attributes.dilations, backend).outShape, x.dtype);
};

const conv3DBackpropFilter: Infer<X & { dy: TensorInfo }, Conv3D & { filterShape: Shape5 }> = (
  { x },
  attributes,
  backend,
) => {
  refuseComplex(backend, x);
  return backend.make(conv3DInfo(x.shape, attributes.filterShape, attributes, 1, backend).filterShape, "float32");
};

const conv3DBackpropInput: Infer<{ dy: TensorInfo; filter: TensorInfo }, Conv3D & { inputShape: Shape5 }> = (
  { dy, filter },
  attributes,
  backend,
) => {
  refuseComplex(backend, dy);
  return backend.make(conv3DInfo(attributes.inputShape, filter.shape, attributes, 1, backend).inShape, "float32");
};

/** Convolutions and their gradients. */
export const convolutionKernels: InferTable = {
  Conv2D: conv2D,
  Conv2DBackpropFilter: conv2DBackpropFilter,
  Conv2DBackpropInput: conv2DBackpropInput,
  Conv3D: conv3D,
  Conv3DBackpropFilterV2: conv3DBackpropFilter,
  Conv3DBackpropInputV2: conv3DBackpropInput,
  DepthwiseConv2dNative: depthwise,
  DepthwiseConv2dNativeBackpropFilter: depthwiseBackpropFilter,
  DepthwiseConv2dNativeBackpropInput: depthwiseBackpropInput,
  FusedConv2D: fusedConv2D,
  FusedDepthwiseConv2D: fusedDepthwise,
};
