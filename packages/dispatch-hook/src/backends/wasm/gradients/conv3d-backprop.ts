import { backend_util, type TensorInfo } from "@tensorflow/tfjs-core";
import { floatsOf, type WasmBackend } from "./wasm-backend.js";

type Shape5 = [number, number, number, number, number];
type Strides = number | [number, number, number];
type Pad = "valid" | "same";
type Info = ReturnType<typeof backend_util.computeConv3DInfo>;

/** One of the three axes along which the window of a convolution moves. */
interface Axis {
  readonly inSize: number;
  readonly outSize: number;
  readonly filterSize: number;
  readonly stride: number;
  readonly before: number;
}

function axesOf(info: Info): readonly [Axis, Axis, Axis] {
  const { padInfo } = info;
  return [
    {
      inSize: info.inDepth,
      outSize: info.outDepth,
      filterSize: info.filterDepth,
      stride: info.strideDepth,
      before: padInfo.front,
    },
    {
      inSize: info.inHeight,
      outSize: info.outHeight,
      filterSize: info.filterHeight,
      stride: info.strideHeight,
      before: padInfo.top,
    },
    {
      inSize: info.inWidth,
      outSize: info.outWidth,
      filterSize: info.filterWidth,
      stride: info.strideWidth,
      before: padInfo.left,
    },
  ];
}

/** Calls `visit` with each place along an axis: in the input, the output and the filter. */
function forEachPlace(
  { inSize, outSize, filterSize, stride, before }: Axis,
  visit: (x: number, y: number, filter: number) => void,
): void {
  for (let y = 0; y < outSize; y++)
    for (let place = 0; place < filterSize; place++) {
      const x = y * stride + place - before;
      if (x >= 0 && x < inSize) visit(x, y, place);
    }
}

/**
 * Calls `visit` with the offsets of the channels of the input, of dy and of the filter, for each pair of voxels that
 * the convolution multiplies.
 */
function forEachPair(info: Info, visit: (x: number, dy: number, filter: number) => void): void {
  const [depth, height, width] = axesOf(info);
  const { batchSize, inChannels, outChannels } = info;
  for (let volume = 0; volume < batchSize; volume++)
    forEachPlace(depth, (x0, y0, f0) => {
      const inPlane = volume * depth.inSize + x0;
      const outPlane = volume * depth.outSize + y0;
      forEachPlace(height, (x1, y1, f1) => {
        const inRow = inPlane * height.inSize + x1;
        const outRow = outPlane * height.outSize + y1;
        const filterRow = f0 * height.filterSize + f1;
        forEachPlace(width, (x2, y2, f2) =>
          visit(
            (inRow * width.inSize + x2) * inChannels,
            (outRow * width.outSize + y2) * outChannels,
            (filterRow * width.filterSize + f2) * inChannels * outChannels,
          ),
        );
      });
    });
}

/** The gradient of a 3D convolution with respect to its filter. @internal */
export function conv3DBackpropFilter({
  inputs: { x, dy },
  attrs: { strides, pad, filterShape },
  backend,
}: {
  readonly inputs: Readonly<Record<"x" | "dy", TensorInfo>>;
  readonly attrs: { readonly strides: Strides; readonly pad: Pad; readonly filterShape: Shape5 };
  readonly backend: WasmBackend;
}): TensorInfo {
  const info = backend_util.computeConv3DInfo(x.shape as Shape5, filterShape, strides, 1, pad);
  const out = backend.makeOutput(filterShape, "float32");
  const [xs, dys, sums] = [
    floatsOf(backend, x),
    floatsOf(backend, dy),
    new Float64Array(floatsOf(backend, out).length),
  ];
  const { inChannels, outChannels } = info;
  forEachPair(info, (xAt, dyAt, filterAt) => {
    for (let c = 0, at = filterAt; c < inChannels; c++) {
      const value = xs[xAt + c];
      for (let d = 0; d < outChannels; d++, at++) sums[at] += value * dys[dyAt + d];
    }
  });
  floatsOf(backend, out).set(sums);
  return out;
}

/** The gradient of a 3D convolution with respect to its input. @internal */
export function conv3DBackpropInput({
  inputs: { dy, filter },
  attrs: { strides, pad, inputShape },
  backend,
}: {
  readonly inputs: Readonly<Record<"dy" | "filter", TensorInfo>>;
  readonly attrs: { readonly strides: Strides; readonly pad: Pad; readonly inputShape: Shape5 };
  readonly backend: WasmBackend;
}): TensorInfo {
  const info = backend_util.computeConv3DInfo(inputShape, filter.shape as Shape5, strides, 1, pad);
  const out = backend.makeOutput(inputShape, "float32");
  const [dys, weights, dxs] = [floatsOf(backend, dy), floatsOf(backend, filter), floatsOf(backend, out).fill(0)];
  const { inChannels, outChannels } = info;
  forEachPair(info, (xAt, dyAt, filterAt) => {
    for (let c = 0, at = filterAt; c < inChannels; c++) {
      let sum = 0;
      for (let d = 0; d < outChannels; d++, at++) sum += dys[dyAt + d] * weights[at];
      dxs[xAt + c] += sum;
    }
  });
  return out;
}
