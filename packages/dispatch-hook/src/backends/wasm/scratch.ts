import type { TensorInfo } from "@tensorflow/tfjs-core";
import { conv2DInfo } from "../../kernels/convolution.js";
import { type Conv2D, type Infer, type InferTable, reduced, type X } from "../../kernels/index.js";
import { plainRule } from "../../kernels/plain-rule.js";
import { refuseComplex } from "../../kernels/shapes.js";
import { type Axes, movedAxes, releaseAll } from "../moved-axes.js";
import { spaceAndBatch } from "../space-and-batch.js";
import { takesAllAsItLies } from "./gradients/conv2d-backprop-filter.js";

/** Allocates the result while the transposed copy still exists. */
function movesAround(
  kernel: string,
  axes: "axis" | "reductionIndices" = "axis",
): Infer<X, Readonly<Record<string, unknown>>> {
  const plain = plainRule(kernel);
  return (inputs, attributes, call) => {
    const moved = movedAxes(inputs.x, attributes[axes] as Axes, call);
    const out = plain(inputs, attributes, call);
    releaseAll(call, moved);
    return out;
  };
}

/** Sums in the same way. The result has x's own dtype, also for bool. */
const sumOfSameDtype: Infer<X, { axis?: Axes; keepDims?: boolean }> = ({ x }, { axis, keepDims }, call) => {
  const moved = movedAxes(x, axis, call);
  const out = call.make(reduced(x.shape, axis, keepDims, call), x.dtype);
  releaseAll(call, moved);
  return out;
};

const mean: Infer<X, { axis?: Axes }> = (inputs, attributes, call) => {
  const { x } = inputs;
  const moved = movedAxes(x, attributes.axis, call);
  const float = x.dtype === "float32" ? undefined : call.make(x.shape, "float32");
  const out = plainRule("Mean")(inputs, attributes, call);
  releaseAll(call, moved, float);
  return out;
};

function scan(kernel: string): Infer<X, { axis: number }> {
  const plain = plainRule(kernel);
  return (inputs, attributes, call) => {
    const { x } = inputs;
    if (attributes.axis >= x.shape.length - 1) return plain(inputs, attributes, call);
    const moved = call.make(x.shape, x.dtype);
    const scanned = call.make(x.shape, x.dtype);
    const out = plain(inputs, attributes, call);
    call.release(moved, scanned);
    return out;
  };
}

const multinomial: Infer<{ logits: TensorInfo }, { normalized?: boolean }> = (inputs, attributes, call) => {
  const { logits } = inputs;
  const probabilities = attributes.normalized ? undefined : call.make(logits.shape, logits.dtype);
  const out = plainRule("Multinomial")(inputs, attributes, call);
  releaseAll(call, probabilities);
  return out;
};

/** Casts inputs other than float32. The result is as large as x, whatever alpha is. */
const prelu: Infer<X> = ({ x }, _, call) => {
  refuseComplex(call, x);
  const float = x.dtype === "float32" ? undefined : call.make(x.shape, "float32");
  const out = call.make(x.shape, "float32");
  releaseAll(call, float);
  return out;
};

/** Casts inputs other than float32, before or after allocating its float32 result. */
function resize(kernel: string, when: "before" | "after"): Infer<Readonly<Record<"images", TensorInfo>>> {
  const plain = plainRule(kernel);
  return (inputs, attributes, call) => {
    const { images } = inputs;
    refuseComplex(call, images);
    const cast = (): TensorInfo | undefined =>
      images.dtype === "float32" ? undefined : call.make(images.shape, "float32");
    const first = when === "before" ? cast() : undefined;
    const out = plain({ ...inputs, images: { ...images, dtype: "float32" } }, attributes, call);
    releaseAll(call, when === "before" ? first : cast());
    return out;
  };
}

/**
 * Our own kernel: dy transposed and, for each place of the filter, the input values under it and their product with dy.
 */
const conv2DBackpropFilter: Infer<
  X & { dy: TensorInfo },
  Conv2D & { filterShape: [number, number, number, number] }
> = (inputs, attributes, backend) => {
  const { x, dy } = inputs;
  const out = plainRule("Conv2DBackpropFilter")(inputs, attributes, backend);
  const info = conv2DInfo(x.shape, attributes.filterShape, attributes, 1, backend);
  const { inChannels, outChannels } = info;
  const positions = info.batchSize * info.outHeight * info.outWidth;
  if (positions === 0) return out;
  const turned = backend.make([outChannels, positions], dy.dtype);
  const isWhole = takesAllAsItLies(info);
  for (let place = 0; place < info.filterHeight * info.filterWidth; place++) {
    const patch = isWhole ? undefined : backend.make([positions, inChannels], "float32");
    const product = backend.make([outChannels, inChannels], "float32");
    backend.release(product);
    releaseAll(backend, patch);
  }
  backend.release(turned);
  return out;
};

/** Buffer for error codes of the kernel's C++ part. */
function reportsErrors(kernel: string, words: number): Infer<object> {
  const plain = plainRule(kernel);
  return (inputs, attributes, call) => {
    const out = plain(inputs, attributes, call);
    call.release(call.make([words], "int32"));
    return out;
  };
}

/**
 * Scratch memory on the wasm backend, from the source of tfjs-backend-wasm 4.22.0 (`kernels/<Kernel>.ts`). Allocations
 * inside of its C++ part are not visible.
 */
export const wasmScratch: InferTable = {
  ...Object.fromEntries(["All", "Any", "ArgMax", "ArgMin", "Min"].map((kernel) => [kernel, movesAround(kernel)])),
  ...spaceAndBatch,
  Conv2DBackpropFilter: conv2DBackpropFilter,
  Cumprod: scan("Cumprod"),
  Cumsum: scan("Cumsum"),
  Max: movesAround("Max", "reductionIndices"),
  Mean: mean,
  Multinomial: multinomial,
  Prelu: prelu,
  Prod: sumOfSameDtype,
  ResizeBilinear: resize("ResizeBilinear", "before"),
  ResizeBilinearGrad: resize("ResizeBilinearGrad", "after"),
  ResizeNearestNeighbor: resize("ResizeNearestNeighbor", "after"),
  ResizeNearestNeighborGrad: resize("ResizeNearestNeighborGrad", "after"),
  SparseReshape: reportsErrors("SparseReshape", 3),
  SparseSegmentMean: reportsErrors("SparseSegmentMean", 4),
  SparseSegmentSum: reportsErrors("SparseSegmentSum", 4),
  Sum: sumOfSameDtype,
};
