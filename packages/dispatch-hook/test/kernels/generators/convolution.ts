import { backend_util } from "@tensorflow/tfjs-core";
import fc from "fast-check";
import {
  type Dtype,
  dimension,
  flag,
  type Generators,
  kernelCase,
  positive,
  realNumber,
  type TensorSpec,
  t,
} from "./kernel-case.js";

const float: Dtype = "float32";
const edge = fc.nat(2);
const explicit = fc.tuple(fc.constant([0, 0]), fc.tuple(edge, edge), fc.tuple(edge, edge), fc.constant([0, 0]));
export const padding2D: fc.Arbitrary<unknown> = fc.oneof(fc.constantFrom("same", "valid"), edge, explicit);
export const pair: fc.Arbitrary<number | [number, number]> = fc.oneof(
  fc.integer({ min: 1, max: 2 }),
  fc.tuple(fc.integer({ min: 1, max: 2 }), fc.integer({ min: 1, max: 2 })),
);
export const rounding: fc.Arbitrary<string | undefined> = fc.constantFrom("floor", "round", "ceil", undefined);
const size = fc.integer({ min: 3, max: 6 });
/** Small enough for the smallest image, dilated or not. */
const window = fc.integer({ min: 1, max: 2 });
const activation = fc.constantFrom(undefined, null, "linear", "relu", "elu", "relu6", "sigmoid", "leakyrelu", "prelu");

const layer2D = fc
  .record({
    batch: dimension,
    height: size,
    width: size,
    channels: positive,
    filter: fc.tuple(window, window, positive),
    strides: pair,
    pad: padding2D,
    dilations: pair,
    dimRoundingMode: rounding,
    first: flag,
    dtype: realNumber,
    bias: flag,
    activation,
  })
  // Padding of an explicit number needs a rounding mode where the result is no whole number.
  .map((layer) => ({
    ...layer,
    dimRoundingMode: typeof layer.pad === "string" ? undefined : (layer.dimRoundingMode ?? "floor"),
  }));

type Layer2D = typeof layer2D extends fc.Arbitrary<infer L> ? L : never;

const shapes2D = ({ batch, height, width, channels, filter: [h, w, out], first }: Layer2D, depthwise: boolean) => ({
  x: first && !depthwise ? [batch, channels, height, width] : [batch, height, width, channels],
  filter: [h, w, channels, out],
  outChannels: depthwise ? channels * out : out,
});

function attributes2D(layer: Layer2D, depthwise: boolean, gradient: boolean): Record<string, unknown> {
  const { strides, pad, dimRoundingMode, first } = layer;
  const dilations = gradient ? 1 : strides === 1 ? layer.dilations : 1;
  const explicitFirst = Array.isArray(pad) && first && !depthwise ? [pad[0], pad[3], pad[1], pad[2]] : pad;
  return { strides, pad: explicitFirst, dilations, dimRoundingMode, dataFormat: first && !depthwise ? "NCHW" : "NHWC" };
}

const forward = (depthwise: boolean, fused: boolean) =>
  layer2D.map((layer) => {
    const { x, filter, outChannels } = shapes2D(layer, depthwise);
    const inputs: Record<string, TensorSpec> = { x: t(x, layer.dtype), filter: t(filter, layer.dtype) };
    if (!fused) return kernelCase(inputs, attributes2D(layer, depthwise, false));
    if (layer.bias) inputs.bias = t([outChannels], layer.dtype);
    if (layer.activation === "prelu") inputs.preluActivationWeights = t([outChannels], layer.dtype);
    return kernelCase(inputs, {
      ...attributes2D(layer, depthwise, false),
      activation: layer.activation,
      leakyreluAlpha: 0.1,
    });
  });

/** The shape of what the layer puts out, if its attributes fit together at all. */
function dy2D(layer: Layer2D, depthwise: boolean): TensorSpec {
  const { x, filter } = shapes2D(layer, depthwise);
  const { strides, pad, dimRoundingMode, dataFormat } = attributes2D(layer, depthwise, true) as Record<string, never>;
  const format = backend_util.convertConv2DDataFormat(dataFormat);
  try {
    return t(
      backend_util.computeConv2DInfo(x as never, filter as never, strides, 1, pad, dimRoundingMode, depthwise, format)
        .outShape,
      float,
    );
  } catch {
    return t([layer.batch, 1, 1, 1], float);
  }
}

const filterGradient = (depthwise: boolean) =>
  layer2D.map((layer) => {
    const { x, filter } = shapes2D(layer, depthwise);
    return kernelCase(
      { x: t(x, float), dy: dy2D(layer, depthwise) },
      { ...attributes2D(layer, depthwise, true), filterShape: filter },
    );
  });

const inputGradient = (depthwise: boolean) =>
  layer2D.map((layer) => {
    const { x, filter } = shapes2D(layer, depthwise);
    return kernelCase(
      { dy: dy2D(layer, depthwise), filter: t(filter, float) },
      { ...attributes2D(layer, depthwise, true), inputShape: x },
    );
  });

const triple = fc.oneof(
  fc.integer({ min: 1, max: 2 }),
  fc.tuple(fc.constantFrom(1, 2), fc.constantFrom(1, 2), fc.constantFrom(1, 2)),
);
const layer3D = fc.record({
  x: fc.tuple(dimension, size, size, size, positive),
  filter: fc.tuple(window, window, window, positive),
  strides: triple,
  dilations: triple,
  pad: fc.constantFrom("same", "valid"),
  dtype: realNumber,
});

type Layer3D = typeof layer3D extends fc.Arbitrary<infer L> ? L : never;

const filter3D = ({ x, filter: [d, h, w, out] }: Layer3D) => [d, h, w, x[4], out];
const dy3D = (layer: Layer3D) =>
  t(
    backend_util.computeConv3DInfo(layer.x, filter3D(layer) as never, layer.strides as never, 1, layer.pad as never)
      .outShape,
    float,
  );

export const convolutionGenerators: Generators = {
  Conv2D: forward(false, false),
  Conv2DBackpropFilter: filterGradient(false),
  Conv2DBackpropInput: inputGradient(false),
  Conv3D: layer3D.map((layer) =>
    kernelCase(
      { x: t(layer.x, layer.dtype), filter: t(filter3D(layer), layer.dtype) },
      { strides: layer.strides, pad: layer.pad, dilations: layer.strides === 1 ? layer.dilations : 1 },
    ),
  ),
  Conv3DBackpropFilterV2: layer3D.map((layer) =>
    kernelCase(
      { x: t(layer.x, float), dy: dy3D(layer) },
      { strides: layer.strides, pad: layer.pad, filterShape: filter3D(layer) },
    ),
  ),
  Conv3DBackpropInputV2: layer3D.map((layer) =>
    kernelCase(
      { dy: dy3D(layer), filter: t(filter3D(layer), float) },
      { strides: layer.strides, pad: layer.pad, inputShape: layer.x },
    ),
  ),
  DepthwiseConv2dNative: forward(true, false),
  DepthwiseConv2dNativeBackpropFilter: filterGradient(true),
  DepthwiseConv2dNativeBackpropInput: inputGradient(true),
  FusedConv2D: forward(false, true),
  FusedDepthwiseConv2D: forward(true, true),
};
