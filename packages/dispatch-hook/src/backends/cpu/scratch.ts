import type { TensorInfo } from "@tensorflow/tfjs-core";
import { type Infer, type InferTable, sizeOf, type X } from "../../kernels/index.js";
import { plainRule } from "../../kernels/plain-rule.js";
import { refuseComplex, sumDtype } from "../../kernels/shapes.js";
import { type Axes, movedAxes, releaseAll } from "../moved-axes.js";
import { spaceAndBatch } from "../space-and-batch.js";
import { complexCpuScratch } from "./complex.js";
import { einsumOnCpu } from "./einsum.js";
import { fusedCpuScratch } from "./fused.js";

/** Frees the transposed copy before it allocates the result, which is a plain array until then. */
function movesFirst(kernel: string): Infer<X, { axis?: Axes }> {
  const plain = plainRule(kernel);
  return (inputs, attributes, call) => {
    releaseAll(call, movedAxes(inputs.x, attributes.axis, call));
    return plain(inputs, attributes, call);
  };
}

const sum: Infer<X, { axis?: Axes }> = (inputs, attributes, call) => {
  const { x } = inputs;
  const counted = x.dtype === "bool" ? call.run("Cast", { x }, { dtype: "int32" }) : undefined;
  const moved = movedAxes(counted ?? x, attributes.axis, call);
  const out = plainRule("Sum")(inputs, attributes, call);
  releaseAll(call, counted, moved);
  return out;
};

/** Sums the quotients, which are a copy of all of x as float32. */
const mean: Infer<X, { axis?: Axes; keepDims?: boolean }> = ({ x }, { axis, keepDims }, call) => {
  const divisor = call.make([], "float32");
  const float = call.run("Cast", { x }, { dtype: "float32" });
  const quotient = call.run("RealDiv", { a: float, b: divisor });
  const out = call.run("Sum", { x: quotient }, { axis, keepDims });
  call.release(divisor, float, quotient);
  return out;
};

const softmax: Infer<{ logits: TensorInfo }, { dim: number }> = (inputs, attributes, call) => {
  const { logits } = inputs;
  refuseComplex(call, logits);
  const last = logits.shape.length - 1;
  if (attributes.dim !== -1 && attributes.dim !== last) return plainRule("Softmax")(inputs, attributes, call);
  const most = call.run("Max", { x: logits }, { reductionIndices: [last] });
  const below = call.make(logits.shape, logits.dtype);
  const powers = call.run("Exp", { x: below });
  const total = call.run("Sum", { x: powers }, { axis: [last] });
  const out = plainRule("Softmax")(inputs, attributes, call);
  call.release(most, below, powers, total);
  return out;
};

const multinomial: Infer<{ logits: TensorInfo }, { normalized?: boolean }> = (inputs, attributes, call) => {
  if (!attributes.normalized) call.release(call.run("Softmax", inputs, { dim: -1 }));
  return plainRule("Multinomial")(inputs, attributes, call);
};

/** Scans along the last axis. Any other axis, and one counted from the end, is moved there and back. */
function scan(kernel: string): Infer<X, { axis: number }> {
  const plain = plainRule(kernel);
  return (inputs, attributes, call) => {
    const { x } = inputs;
    const stays = attributes.axis >= x.shape.length - 1;
    if (stays || x.dtype === "complex64") return plain(inputs, attributes, call);
    const moved = call.make(x.shape, x.dtype);
    const scanned = call.make(x.shape, sumDtype(x.dtype));
    const out = plain(inputs, attributes, call);
    call.release(scanned, moved);
    return out;
  };
}

/** If there are more segments than this, the first ones are one block here. The peak stays exact. */
const singleSegments = 256;

/** Compares, masks and sums for every segment, and frees everything at the end: a copy of x for each segment. */
const unsortedSegmentSum: Infer<{ x: TensorInfo; segmentIds: TensorInfo }, { numSegments: number }> = (
  inputs,
  attributes,
  call,
) => {
  const { x, segmentIds } = inputs;
  const { numSegments } = attributes;
  refuseComplex(call, x);
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
    held.push(call.make([from * perSegment], "bool"));
  }
  for (let i = from; i < numSegments; i++) {
    const id = call.make([], "int32");
    const mask = call.run("Equal", { a: id, b: ids });
    const factors = call.run("Cast", { x: mask }, { dtype: "float32" });
    const product = call.run("Multiply", { a: factors, b: x });
    const row = call.run("Sum", { x: product }, { axis: 0, keepDims: false });
    held.push(id, mask, factors, product, row);
    rows.push(row);
  }
  const out =
    from === 0 ? call.run("Pack", rows, { axis: 0 }) : plainRule("UnsortedSegmentSum")(inputs, attributes, call);
  call.release(...held);
  return out;
};

/** Scratch memory on the cpu backend, from the source of tfjs-backend-cpu 4.22.0 (`kernels/<Kernel>.ts`). */
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
