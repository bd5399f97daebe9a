import type { TensorInfo } from "@tensorflow/tfjs-core";
import type { Infer, InferTable, X } from "../kernels/infer.js";
import { reduced } from "../kernels/reductions.js";
import { refuseComplex } from "../kernels/shapes.js";
import { type Axes, movedAxes, releaseAll } from "./moved-axes.js";
import { plainRule } from "./plain-rule.js";
import { spaceAndBatch } from "./space-and-batch.js";

/** Makes the result while the moved copy is still there. */
function movesAround(
  kernel: string,
  axes: "axis" | "reductionIndices" = "axis",
): Infer<X, Readonly<Record<string, unknown>>> {
  const plain = plainRule(kernel);
  return (inputs, attributes, backend) => {
    const moved = movedAxes(inputs.x, attributes[axes] as Axes, backend);
    const out = plain(inputs, attributes, backend);
    releaseAll(backend, moved);
    return out;
  };
}

/** The same, but a result of x's own dtype, also of bool. */
const sumOfSameDtype: Infer<X, { axis?: Axes; keepDims?: boolean }> = ({ x }, { axis, keepDims }, backend) => {
  const moved = movedAxes(x, axis, backend);
  const out = backend.make(reduced(x.shape, axis, keepDims, backend), x.dtype);
  releaseAll(backend, moved);
  return out;
};

const mean: Infer<X, { axis?: Axes }> = (inputs, attributes, backend) => {
  const { x } = inputs;
  const moved = movedAxes(x, attributes.axis, backend);
  const float = x.dtype === "float32" ? undefined : backend.make(x.shape, "float32");
  const out = plainRule("Mean")(inputs, attributes, backend);
  releaseAll(backend, moved, float);
  return out;
};

function scan(kernel: string): Infer<X, { axis: number }> {
  const plain = plainRule(kernel);
  return (inputs, attributes, backend) => {
    const { x } = inputs;
    if (attributes.axis >= x.shape.length - 1) return plain(inputs, attributes, backend);
    const moved = backend.make(x.shape, x.dtype);
    const scanned = backend.make(x.shape, x.dtype);
    const out = plain(inputs, attributes, backend);
    backend.release(moved, scanned);
    return out;
  };
}

const multinomial: Infer<{ logits: TensorInfo }, { normalized?: boolean }> = (inputs, attributes, backend) => {
  const { logits } = inputs;
  const probabilities = attributes.normalized ? undefined : backend.make(logits.shape, logits.dtype);
  const out = plainRule("Multinomial")(inputs, attributes, backend);
  releaseAll(backend, probabilities);
  return out;
};

/** Casts what is not float32; the result is as large as x, whatever alpha is. */
const prelu: Infer<X> = ({ x }, _, backend) => {
  refuseComplex(backend, x);
  const float = x.dtype === "float32" ? undefined : backend.make(x.shape, "float32");
  const out = backend.make(x.shape, "float32");
  releaseAll(backend, float);
  return out;
};

/** Casts what is not float32, before or after it has made its result, which is float32. */
function resize(kernel: string, when: "before" | "after"): Infer<Readonly<Record<"images", TensorInfo>>> {
  const plain = plainRule(kernel);
  return (inputs, attributes, backend) => {
    const { images } = inputs;
    refuseComplex(backend, images);
    const cast = (): TensorInfo | undefined =>
      images.dtype === "float32" ? undefined : backend.make(images.shape, "float32");
    const first = when === "before" ? cast() : undefined;
    const out = plain({ ...inputs, images: { ...images, dtype: "float32" } }, attributes, backend);
    releaseAll(backend, when === "before" ? first : cast());
    return out;
  };
}

/** Where the kernel's C++ half leaves what is wrong with its arguments. */
function reportsErrors(kernel: string, words: number): Infer<object> {
  const plain = plainRule(kernel);
  return (inputs, attributes, backend) => {
    const out = plain(inputs, attributes, backend);
    backend.release(backend.make([words], "int32"));
    return out;
  };
}

/** Scratch on the wasm backend, read in tfjs-backend-wasm 4.22.0 (`kernels/<Kernel>.ts`); what its C++ half takes and gives back within a call is not seen. */
export const wasmScratch: InferTable = {
  ...Object.fromEntries(["All", "Any", "ArgMax", "ArgMin", "Min"].map((kernel) => [kernel, movesAround(kernel)])),
  ...spaceAndBatch,
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
