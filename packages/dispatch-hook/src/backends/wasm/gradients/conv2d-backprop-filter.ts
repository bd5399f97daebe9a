import { backend_util, type Conv2DBackpropFilterAttrs, type TensorInfo } from "@tensorflow/tfjs-core";
import { floatsOf, runWasmKernel, type WasmBackend } from "./wasm-backend.js";

export interface ConvGradientCall<Attributes> {
  readonly inputs: Readonly<Record<"x" | "dy", TensorInfo>>;
  readonly attrs: Attributes;
  readonly backend: WasmBackend;
}

/**
 * The gradient of a convolution with respect to its filter. For each place in the filter, it multiplies the input
 * values under it (output positions × input channels) with dy (positions × output channels).
 *
 * @throws Error for a format other than `NHWC`, which wasm's convolutions do not support either
 *
 * @internal
 */
export function conv2DBackpropFilter({
  inputs: { x, dy },
  attrs,
  backend,
}: ConvGradientCall<Conv2DBackpropFilterAttrs>): TensorInfo {
  const { strides, pad, dataFormat, dimRoundingMode, filterShape } = attrs;
  const format = backend_util.convertConv2DDataFormat(dataFormat);
  if (format !== "channelsLast")
    throw new Error(
      `wasm backend Conv2DBackpropFilter does not support dataFormat:'${format}'. Please use 'channelsLast'.`,
    );
  const shape = x.shape as [number, number, number, number];
  const info = backend_util.computeConv2DInfo(shape, filterShape, strides, 1, pad, dimRoundingMode, false, format);
  const { filterHeight, filterWidth, inChannels, outChannels } = info;
  const positions = info.batchSize * info.outHeight * info.outWidth;
  const out = backend.makeOutput(filterShape, "float32");
  if (positions === 0) {
    floatsOf(backend, out).fill(0);
    return out;
  }
  const turned = runWasmKernel(
    backend,
    "Transpose",
    { x: { ...dy, shape: [positions, outChannels] } },
    { perm: [1, 0] },
  );
  const isWhole = takesAllAsItLies(info);
  for (let place = 0; place < filterHeight * filterWidth; place++) {
    const row = Math.floor(place / filterWidth);
    const patch = isWhole ? x : patchUnder(x, info, row, place - row * filterWidth, backend);
    const b = { ...patch, shape: [positions, inChannels] };
    const product = runWasmKernel(backend, "BatchMatMul", { a: turned, b }, { transposeA: false, transposeB: false });
    transposeInto(floatsOf(backend, out), place * inChannels * outChannels, floatsOf(backend, product), inChannels);
    backend.disposeData(product.dataId);
    if (!isWhole) backend.disposeData(patch.dataId);
  }
  backend.disposeData(turned.dataId);
  return out;
}

/** Returns whether the filter has one place that covers each input value once, so that nothing is copied. @internal */
export function takesAllAsItLies(info: backend_util.Conv2DInfo): boolean {
  const { filterHeight, filterWidth, strideHeight, strideWidth, padInfo } = info;
  const { top, bottom, left, right } = padInfo;
  return filterHeight * filterWidth * strideHeight * strideWidth === 1 && top + bottom + left + right === 0;
}

/** The input values under one place of the filter, for each output position. Zeros beyond the border. */
function patchUnder(
  x: TensorInfo,
  info: backend_util.Conv2DInfo,
  row: number,
  column: number,
  backend: WasmBackend,
): TensorInfo {
  const { batchSize, inHeight, inWidth, outHeight, outWidth, inChannels, strideHeight, strideWidth, padInfo } = info;
  const patch = backend.makeOutput([batchSize, outHeight, outWidth, inChannels], "float32");
  const from = floatsOf(backend, x);
  const to = floatsOf(backend, patch);
  // Both are views of the heap, in which contiguous values can be moved at once.
  const heap = new Float32Array(to.buffer);
  const fromStart = from.byteOffset / heap.BYTES_PER_ELEMENT;
  let at = to.byteOffset / heap.BYTES_PER_ELEMENT;
  const firstColumn = column - padInfo.left;
  // The range of output positions in a row that lie within the input: the first one, and the end (exclusive).
  const first = Math.min(outWidth, Math.max(0, Math.ceil(-firstColumn / strideWidth)));
  const end = Math.max(first, Math.min(outWidth, Math.floor((inWidth - 1 - firstColumn) / strideWidth) + 1));
  for (let image = 0; image < batchSize; image++)
    for (let y = 0; y < outHeight; y++) {
      const fromRow = row + y * strideHeight - padInfo.top;
      const next = at + outWidth * inChannels;
      if (fromRow < 0 || fromRow >= inHeight) heap.fill(0, at, next);
      else {
        let source =
          fromStart + ((image * inHeight + fromRow) * inWidth + firstColumn + first * strideWidth) * inChannels;
        heap.fill(0, at, at + first * inChannels);
        at += first * inChannels;
        const run = strideWidth === 1 ? end - first : 1;
        for (let position = first; position < end; position += run) {
          heap.copyWithin(at, source, source + run * inChannels);
          at += run * inChannels;
          source += strideWidth * inChannels;
        }
        heap.fill(0, at, next);
      }
      at = next;
    }
  return patch;
}

/** Writes the transpose of a matrix to `to`. The transposed matrix has `rows` rows. */
function transposeInto(to: Float32Array, start: number, from: Float32Array, rows: number): void {
  const columns = from.length / rows;
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) to[start + row * columns + column] = from[column * rows + row];
}
