import type { TensorInfo } from "@tensorflow/tfjs-core";
import type { Infer, InferTable, X } from "../kernels/infer.js";
import { refuseComplex, sizeOf, sumDtype } from "../kernels/shapes.js";
import { complexCpuScratch } from "./cpu-complex.js";
import { einsumOnCpu } from "./cpu-einsum.js";
import { fusedCpuScratch } from "./cpu-fused.js";
import { type Axes, movedAxes, releaseAll } from "./moved-axes.js";
import { plainRule } from "./plain-rule.js";
import { spaceAndBatch } from "./space-and-batch.js";

/** Lets go of the moved copy before it makes the result, for which it has only an array till then. */
function movesFirst(kernel: string): Infer<X, { axis?: Axes }> {
  const plain = plainRule(kernel);
  return (inputs, attributes, backend) => {
    releaseAll(backend, movedAxes(inputs.x, attributes.axis, backend));
    return plain(inputs, attributes, backend);
  };
}

const sum: Infer<X, { axis?: Axes }> = (inputs, attributes, backend) => {
  const { x } = inputs;
  const counted = x.dtype === "bool" ? backend.run("Cast", { x }, { dtype: "int32" }) : undefined;
  const moved = movedAxes(counted ?? x, attributes.axis, backend);
  const out = plainRule("Sum")(inputs, attributes, backend);
  releaseAll(backend, counted, moved);
  return out;
};

/** The sum of the quotients: a copy of all of x, as float32. */
const mean: Infer<X, { axis?: Axes; keepDims?: boolean }> = ({ x }, { axis, keepDims }, backend) => {
  const divisor = backend.make([], "float32");
  const float = backend.run("Cast", { x }, { dtype: "float32" });
  const quotient = backend.run("RealDiv", { a: float, b: divisor });
  const out = backend.run("Sum", { x: quotient }, { axis, keepDims });
  backend.release(divisor, float, quotient);
  return out;
};

const softmax: Infer<{ logits: TensorInfo }, { dim: number }> = (inputs, attributes, backend) => {
  const { logits } = inputs;
  refuseComplex(backend, logits);
  const last = logits.shape.length - 1;
  if (attributes.dim !== -1 && attributes.dim !== last) return plainRule("Softmax")(inputs, attributes, backend);
  const most = backend.run("Max", { x: logits }, { reductionIndices: [last] });
  const below = backend.make(logits.shape, logits.dtype);
  const powers = backend.run("Exp", { x: below });
  const total = backend.run("Sum", { x: powers }, { axis: [last] });
  const out = plainRule("Softmax")(inputs, attributes, backend);
  backend.release(most, below, powers, total);
  return out;
};

const multinomial: Infer<{ logits: TensorInfo }, { normalized?: boolean }> = (inputs, attributes, backend) => {
  if (!attributes.normalized) backend.release(backend.run("Softmax", inputs, { dim: -1 }));
  return plainRule("Multinomial")(inputs, attributes, backend);
};

/** Scans along the last axis. Any other one, and one counted from the end, is moved there and back. */
function scan(kernel: string): Infer<X, { axis: number }> {
  const plain = plainRule(kernel);
  return (inputs, attributes, backend) => {
    const { x } = inputs;
    const stays = attributes.axis >= x.shape.length - 1;
    if (stays || x.dtype === "complex64") return plain(inputs, attributes, backend);
    const moved = backend.make(x.shape, x.dtype);
    const scanned = backend.make(x.shape, sumDtype(x.dtype));
    const out = plain(inputs, attributes, backend);
    backend.release(scanned, moved);
    return out;
  };
}

/** Beyond so many segments the first ones are held as one block; what is held at most stays exact. */
const singleSegments = 256;

/** Compares, masks and sums anew for every segment, and lets go of it all at the end: a copy of x for each segment. */
const unsortedSegmentSum: Infer<{ x: TensorInfo; segmentIds: TensorInfo }, { numSegments: number }> = (
  inputs,
  attributes,
  backend,
) => {
  const { x, segmentIds } = inputs;
  const { numSegments } = attributes;
  refuseComplex(backend, x);
  const held: TensorInfo[] = [];
  const rows: TensorInfo[] = [];
  const ids = { ...segmentIds, shape: segmentIds.shape.slice() };
  for (let i = segmentIds.shape.length; i < x.shape.length; i++)
    ids.shape.splice(i - segmentIds.shape.length + 1, 0, 1);
  let from = 0;
  if (numSegments > singleSegments) {
    from = numSegments - singleSegments;
    const row = sizeOf(x.shape.slice(1));
    const perSegment = 4 + sizeOf(ids.shape) + 4 * sizeOf(x.shape) + 4 * row;
    held.push(backend.make([from * perSegment], "bool"));
  }
  for (let i = from; i < numSegments; i++) {
    const id = backend.make([], "int32");
    const mask = backend.run("Equal", { a: id, b: ids });
    const factors = backend.run("Cast", { x: mask }, { dtype: "float32" });
    const product = backend.run("Multiply", { a: factors, b: x });
    const row = backend.run("Sum", { x: product }, { axis: 0, keepDims: false });
    held.push(id, mask, factors, product, row);
    rows.push(row);
  }
  const out =
    from === 0 ? backend.run("Pack", rows, { axis: 0 }) : plainRule("UnsortedSegmentSum")(inputs, attributes, backend);
  backend.release(...held);
  return out;
};

/** Scratch on the cpu backend, read in tfjs-backend-cpu 4.22.0 (`kernels/<Kernel>.ts`). */
export const cpuScratch: InferTable = {
  ...Object.fromEntries(
    ["All", "Any", "ArgMax", "ArgMin", "Min", "Prod"].map((kernel) => [kernel, movesFirst(kernel)]),
  ),
  ...complexCpuScratch,
  ...fusedCpuScratch,
  ...spaceAndBatch,
  Cumprod: scan("Cumprod"),
  Cumsum: scan("Cumsum"),
  Einsum: einsumOnCpu,
  Mean: mean,
  Multinomial: multinomial,
  Softmax: softmax,
  Sum: sum,
  UnsortedSegmentSum: unsortedSegmentSum,
};
