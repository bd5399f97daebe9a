import {
  backend_util,
  type DepthwiseConv2dNativeBackpropFilterAttrs,
  type DepthwiseConv2dNativeBackpropInputAttrs,
  type TensorInfo,
} from "@tensorflow/tfjs-core";
import type { ConvGradientCall } from "./conv2d-backprop-filter.js";
import { floatsOf, type WasmBackend } from "./wasm-backend.js";

type Shape4 = [number, number, number, number];

/**
 * Calls `visit` with the offsets of values (their first channel) in the input, in dy and in the filter, for each
 * product in the sum of the convolution.
 */
function forEachProduct(info: backend_util.Conv2DInfo, visit: (x: number, dy: number, filter: number) => void): void {
  const { batchSize, inHeight, inWidth, outHeight, outWidth, inChannels, outChannels, padInfo } = info;
  const { filterHeight, filterWidth, strideHeight, strideWidth, dilationHeight, dilationWidth } = info;
  for (let image = 0; image < batchSize; image++)
    for (let y = 0; y < outHeight; y++)
      for (let row = 0; row < filterHeight; row++) {
        const inRow = row * dilationHeight + y * strideHeight - padInfo.top;
        if (inRow < 0 || inRow >= inHeight) continue;
        for (let position = 0; position < outWidth; position++)
          for (let column = 0; column < filterWidth; column++) {
            const inColumn = column * dilationWidth + position * strideWidth - padInfo.left;
            if (inColumn < 0 || inColumn >= inWidth) continue;
            visit(
              ((image * inHeight + inRow) * inWidth + inColumn) * inChannels,
              ((image * outHeight + y) * outWidth + position) * outChannels,
              (row * filterWidth + column) * outChannels,
            );
          }
      }
}

/** The gradient of a depthwise convolution with respect to its filter. @internal */
export function depthwiseBackpropFilter({
  inputs: { x, dy },
  attrs,
  backend,
}: ConvGradientCall<DepthwiseConv2dNativeBackpropFilterAttrs>): TensorInfo {
  const { strides, dilations, pad, dimRoundingMode, filterShape } = attrs;
  const info = backend_util.computeConv2DInfo(
    x.shape as Shape4,
    filterShape,
    strides,
    dilations,
    pad,
    dimRoundingMode,
    true,
  );
  const out = backend.makeOutput(filterShape, "float32");
  const [xs, dys, sums] = [
    floatsOf(backend, x),
    floatsOf(backend, dy),
    new Float64Array(floatsOf(backend, out).length),
  ];
  const { inChannels, outChannels } = info;
  const multiplier = outChannels / inChannels;
  forEachProduct(info, (xAt, dyAt, filterAt) => {
    if (multiplier === 1) for (let c = 0; c < inChannels; c++) sums[filterAt + c] += xs[xAt + c] * dys[dyAt + c];
    else
      for (let c = 0, d = 0; c < inChannels; c++) {
        const value = xs[xAt + c];
        for (let m = 0; m < multiplier; m++, d++) sums[filterAt + d] += value * dys[dyAt + d];
      }
  });
  floatsOf(backend, out).set(sums);
  return out;
}

/** The gradient of a depthwise convolution with respect to its input. @internal */
export function depthwiseBackpropInput({
  inputs: { dy, filter },
  attrs,
  backend,
}: {
  readonly inputs: Readonly<Record<"dy" | "filter", TensorInfo>>;
  readonly attrs: DepthwiseConv2dNativeBackpropInputAttrs;
  readonly backend: WasmBackend;
}): TensorInfo {
  const { strides, dilations, pad, dimRoundingMode, inputShape } = attrs;
  const info = backend_util.computeConv2DInfo(
    inputShape,
    filter.shape as Shape4,
    strides,
    dilations,
    pad,
    dimRoundingMode,
    true,
  );
  const out = backend.makeOutput(inputShape, "float32");
  const [dys, weights, dxs] = [floatsOf(backend, dy), floatsOf(backend, filter), floatsOf(backend, out).fill(0)];
  const { inChannels, outChannels } = info;
  const multiplier = outChannels / inChannels;
  forEachProduct(info, (xAt, dyAt, filterAt) => {
    if (multiplier === 1) for (let c = 0; c < inChannels; c++) dxs[xAt + c] += dys[dyAt + c] * weights[filterAt + c];
    else
      for (let c = 0, d = 0; c < inChannels; c++) {
        let sum = 0;
        for (let m = 0; m < multiplier; m++, d++) sum += dys[dyAt + d] * weights[filterAt + d];
        dxs[xAt + c] += sum;
      }
  });
  return out;
}
