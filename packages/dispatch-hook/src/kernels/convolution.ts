import { backend_util, type TensorInfo } from "@tensorflow/tfjs-core";
import { type FusedAttributes, type FusedInputs, fuse } from "./activation.js";
import type { Infer, InferTable, X } from "./infer.js";
import type { KernelCall } from "./kernel-call.js";
import { fitting, mismatch, paddingOf, refuseComplex } from "./shapes.js";

type Shape4 = [number, number, number, number];
type Shape5 = [number, number, number, number, number];

/** Attributes of a 2D convolution and of its gradients. @internal */
export interface Conv2D {
  /** Step of the window on each axis. */
  readonly strides: [number, number] | number;
  /** Padding of the input. */
  readonly pad: "valid" | "same" | number | backend_util.ExplicitPadding;
  /** Order of the axes. Default: `NHWC`. */
  readonly dataFormat?: "NHWC" | "NCHW";
  /** Distance between filter elements on each axis. Default: 1. */
  readonly dilations?: [number, number] | number;
  /** How output sizes are rounded. */
  readonly dimRoundingMode?: "floor" | "round" | "ceil";
}

interface Filtered extends X {
  readonly filter: TensorInfo;
}

/** Returns the sizes of a 2D convolution. @internal */
export function conv2DInfo(
  x: number[],
  filter: number[],
  attributes: Conv2D,
  dilations: Conv2D["dilations"],
  call: KernelCall,
): backend_util.Conv2DInfo {
  if (x.length !== 4 || filter.length !== 4) mismatch(call, `x [${x}] and filter [${filter}] must have rank 4`);
  const { strides, dataFormat } = attributes;
  const [pad, dimRoundingMode] = paddingOf(attributes.pad, attributes.dimRoundingMode, call);
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
    call,
  );
}

const conv2D: Infer<Filtered, Conv2D> = ({ x, filter }, attributes, call) => {
  refuseComplex(call, x);
  return call.make(conv2DInfo(x.shape, filter.shape, attributes, attributes.dilations, call).outShape, x.dtype);
};

const fusedConv2D: Infer<Filtered & FusedInputs, Conv2D & FusedAttributes> = (inputs, attributes, call) => {
  const { x, filter } = inputs;
  refuseComplex(call, x);
  const { outShape } = conv2DInfo(x.shape, filter.shape, attributes, attributes.dilations, call);
  const isPerChannel = attributes.dataFormat === "NCHW";
  return fuse({ shape: outShape, dtype: x.dtype, isPerChannel }, inputs, attributes, call);
};

const conv2DBackpropFilter: Infer<X & { dy: TensorInfo }, Conv2D & { filterShape: Shape4 }> = (
  { x, dy },
  attributes,
  call,
) => {
  refuseComplex(call, x);
  refuseComplex(call, dy);
  return call.make(conv2DInfo(x.shape, attributes.filterShape, attributes, 1, call).filterShape, "float32");
};

const conv2DBackpropInput: Infer<{ dy: TensorInfo; filter: TensorInfo }, Conv2D & { inputShape: Shape4 }> = (
  { dy, filter },
  attributes,
  call,
) => {
  refuseComplex(call, dy);
  return call.make(conv2DInfo(attributes.inputShape, filter.shape, attributes, 1, call).inShape, "float32");
};

function depthwiseInfo(x: number[], filter: number[], attributes: Conv2D, call: KernelCall): backend_util.Conv2DInfo {
  if (x.length !== 4 || filter.length !== 4) mismatch(call, `x [${x}] and filter [${filter}] must have rank 4`);
  const { strides } = attributes;
  const [pad, dimRoundingMode] = paddingOf(attributes.pad, attributes.dimRoundingMode, call);
  const dilations = attributes.dilations ?? 1;
  if (!backend_util.eitherStridesOrDilationsAreOne(strides, dilations)) {
    mismatch(call, `strides ${strides} and dilations ${dilations} cannot both be above 1`);
  }
  return fitting(
    backend_util.computeConv2DInfo(x as Shape4, filter as Shape4, strides, dilations, pad, dimRoundingMode, true),
    call,
  );
}

const depthwise: Infer<Filtered, Conv2D> = ({ x, filter }, attributes, call) => {
  refuseComplex(call, x);
  return call.make(depthwiseInfo(x.shape, filter.shape, attributes, call).outShape, x.dtype);
};

const fusedDepthwise: Infer<Filtered & FusedInputs, Conv2D & FusedAttributes> = (inputs, attributes, call) => {
  const { x, filter } = inputs;
  refuseComplex(call, x);
  const { outShape } = depthwiseInfo(x.shape, filter.shape, attributes, call);
  return fuse({ shape: outShape, dtype: x.dtype }, inputs, attributes, call);
};

const depthwiseBackpropFilter: Infer<X & { dy: TensorInfo }, Conv2D & { filterShape: Shape4 }> = (
  { x },
  attributes,
  call,
) => {
  refuseComplex(call, x);
  return call.make(depthwiseInfo(x.shape, attributes.filterShape, attributes, call).filterShape, "float32");
};

const depthwiseBackpropInput: Infer<{ dy: TensorInfo; filter: TensorInfo }, Conv2D & { inputShape: Shape4 }> = (
  { dy, filter },
  attributes,
  call,
) => {
  refuseComplex(call, dy);
  return call.make(depthwiseInfo(attributes.inputShape, filter.shape, attributes, call).inShape, "float32");
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
  call: KernelCall,
): backend_util.Conv3DInfo {
  if (x.length !== 5 || filter.length !== 5) mismatch(call, `x [${x}] and filter [${filter}] must have rank 5`);
  return fitting(
    backend_util.computeConv3DInfo(x as Shape5, filter as Shape5, attributes.strides, dilations ?? 1, attributes.pad),
    call,
  );
}

const conv3D: Infer<Filtered, Conv3D> = ({ x, filter }, attributes, call) => {
  refuseComplex(call, x);
  return call.make(conv3DInfo(x.shape, filter.shape, attributes, attributes.dilations, call).outShape, x.dtype);
};

const conv3DBackpropFilter: Infer<X & { dy: TensorInfo }, Conv3D & { filterShape: Shape5 }> = (
  { x },
  attributes,
  call,
) => {
  refuseComplex(call, x);
  return call.make(conv3DInfo(x.shape, attributes.filterShape, attributes, 1, call).filterShape, "float32");
};

const conv3DBackpropInput: Infer<{ dy: TensorInfo; filter: TensorInfo }, Conv3D & { inputShape: Shape5 }> = (
  { dy, filter },
  attributes,
  call,
) => {
  refuseComplex(call, dy);
  return call.make(conv3DInfo(attributes.inputShape, filter.shape, attributes, 1, call).inShape, "float32");
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
