import { backend_util, type DataType, type TensorInfo, util } from "@tensorflow/tfjs-core";
import { type Infer, type InferTable, type X } from "../../kernels/index.js";
import { plainRule } from "../../kernels/plain-rule.js";
import type { Axes } from "../moved-axes.js";
import { releaseAll } from "../moved-axes.js";
import { composedOnTensorflow } from "./composed.js";

type Inputs = Readonly<Record<string, TensorInfo>>;
type Attributes = Readonly<Record<string, unknown>>;
/** Number of elements of a constant, int32 unless a dtype is given. */
type Constant = number | readonly [elements: number, dtype: DataType];

/** A kernel whose JavaScript part passes attributes as tensors: constants that live as long as the call. */
function withConstants(
  kernel: string,
  constantsOf: (inputs: Inputs, attributes: Attributes) => Constant[],
): Infer<Inputs, Attributes> {
  const plain = plainRule(kernel);
  return (inputs, attributes, call) => {
    const constants = constantsOf(inputs, attributes).map((constant) =>
      typeof constant === "number" ? call.make([constant], "int32") : call.make([constant[0]], constant[1]),
    );
    const out = plain(inputs, attributes, call);
    call.release(...constants);
    return out;
  };
}

/** Applies the same constants to several kernels. */
const forEach = (kernels: string, constantsOf: (inputs: Inputs, attributes: Attributes) => Constant[]): InferTable =>
  Object.fromEntries(kernels.split(" ").map((kernel) => [kernel, withConstants(kernel, constantsOf)]));

const lengthOf = (list: unknown): number => (list as readonly unknown[]).length;
const axesOf = (axes: unknown, { shape }: TensorInfo): number => util.parseAxisParam(axes as number[], shape).length;

const mean: Infer<X, { axis?: Axes }> = (inputs, attributes, call) => {
  const { x } = inputs;
  const axes = call.make([axesOf(attributes.axis, x)], "int32");
  const float = x.dtype === "float32" ? undefined : call.make(x.shape, "float32");
  const out = plainRule("Mean")(inputs, attributes, call);
  releaseAll(call, float, axes);
  return out;
};

function argument(kernel: string): Infer<X> {
  const plain = plainRule(kernel);
  return (inputs, attributes, call) => {
    const { x } = inputs;
    const counted = x.dtype === "bool" ? call.make(x.shape, "int32") : undefined;
    const axis = call.make([], "int32");
    const out = plain(inputs, attributes, call);
    releaseAll(call, counted, axis);
    return out;
  };
}

const pow: Infer<{ a: TensorInfo; b: TensorInfo }> = (inputs, attributes, call) => {
  const { a, b } = inputs;
  const dtype = backend_util.upcastType(a.dtype, b.dtype);
  const copies = [a, b].filter((x) => x.dtype !== dtype).map((x) => call.make(x.shape, dtype));
  const out = plainRule("Pow")(inputs, attributes, call);
  call.release(...copies);
  return out;
};

/** An empty range is made in JavaScript. */
const range: Infer<object, { start: number; stop: number; step: number; dtype: DataType }> = (
  inputs,
  attributes,
  call,
) => {
  const { start, stop, step, dtype } = attributes;
  const empty = start === stop || (start < stop && step < 0) || (stop < start && step > 1);
  const constants = empty ? [] : [start, stop, step].map(() => call.make([], dtype));
  const out = plainRule("Range")(inputs, attributes, call);
  call.release(...constants);
  return out;
};

/** Frees its constants in the opposite order. */
const batchToSpace: Infer<X, { blockShape: number[]; crops: number[][] }> = (inputs, attributes, call) => {
  const block = call.make([attributes.blockShape.length], "int32");
  const crops = call.make([2 * attributes.crops.length], "int32");
  const out = plainRule("BatchToSpaceND")(inputs, attributes, call);
  call.release(crops, block);
  return out;
};

/**
 * Scratch memory on the native backend: tensors that the JavaScript part of tfjs-node 4.22.0 (`kernels/<Kernel>.ts`)
 * makes around TensorFlow's kernels. Allocations inside of TensorFlow's kernels are not visible, but `library-bytes.ts`
 * bounds them.
 */
export const tensorflowScratch: InferTable = {
  ...composedOnTensorflow,
  ...forEach("All Any Min Prod Sum", ({ x }, { axis }) => [axesOf(axis, x)]),
  ...forEach("AvgPoolGrad AvgPool3DGrad", ({ input }) => [input.shape.length]),
  ...forEach(
    "Bincount Concat Cumprod Cumsum ExpandDims FlipLeftRight GatherV2 Multinomial TopK UnsortedSegmentSum",
    () => [1],
  ),
  ...forEach(
    "Conv2DBackpropFilter Conv2DBackpropInput DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput",
    () => [4],
  ),
  ...forEach("Conv3DBackpropFilterV2 Conv3DBackpropInputV2", () => [5]),
  ...forEach("CropAndResize ResizeBilinear ResizeNearestNeighbor ResizeNearestNeighborGrad", () => [2]),
  ...forEach("Reshape ScatterNd", (_, { shape }) => [lengthOf(shape)]),
  ArgMax: argument("ArgMax"),
  ArgMin: argument("ArgMin"),
  BatchToSpaceND: batchToSpace,
  Fill: withConstants("Fill", (_, { shape, value, dtype }) => [
    lengthOf(shape),
    [1, (dtype as DataType | undefined) ?? util.inferDtype(value as number)],
  ]),
  LinSpace: withConstants("LinSpace", () => [[1, "float32"], [1, "float32"], 1]),
  Max: withConstants("Max", ({ x }, { reductionIndices }) => [axesOf(reductionIndices, x)]),
  Mean: mean,
  MirrorPad: withConstants("MirrorPad", (_, { paddings }) => [2 * lengthOf(paddings)]),
  NonMaxSuppressionV4: withConstants("NonMaxSuppressionV4", () => [1, [1, "float32"], [1, "float32"]]),
  OneHot: withConstants("OneHot", (_, { dtype }) => [1, [1, dtype as DataType], [1, dtype as DataType]]),
  PadV2: withConstants("PadV2", ({ x }, { paddings }) => [2 * lengthOf(paddings), [1, x.dtype]]),
  Pow: pow,
  Range: range,
  Reverse: withConstants("Reverse", ({ x }, { dims }) => [axesOf(dims, x)]),
  Slice: withConstants("Slice", ({ x }) => [x.shape.length, x.shape.length]),
  SpaceToBatchND: withConstants("SpaceToBatchND", (_, { blockShape, paddings }) => [
    lengthOf(blockShape),
    2 * lengthOf(paddings),
  ]),
  SparseToDense: withConstants("SparseToDense", (_, { outputShape }) => [lengthOf(outputShape)]),
  SplitV: withConstants("SplitV", (_, { numOrSizeSplits }) => [
    typeof numOrSizeSplits === "number" ? numOrSizeSplits : lengthOf(numOrSizeSplits),
    1,
  ]),
  StridedSlice: withConstants("StridedSlice", (_, { begin, end, strides }) => [
    lengthOf(begin),
    lengthOf(end),
    lengthOf(strides),
  ]),
  Tile: withConstants("Tile", (_, { reps }) => [lengthOf(reps)]),
  Transpose: withConstants("Transpose", (_, { perm }) => [lengthOf(perm)]),
};
