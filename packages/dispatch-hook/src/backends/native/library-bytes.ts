import type { OpShapes } from "../backend.js";

/** Bytes per element. All rules are for tensors of this size. */
const floatBytes = 4;

type Rule = (op: OpShapes) => number;
type Shape = readonly number[];

const sizeOf = (shape: Shape): number => shape.reduce((product, side) => product * side, 1);
const last = (shape: Shape): number => shape.at(-1) ?? 1;

/** `kc` of `computeProductBlockingSizes` for several threads. It is smaller if the first-level cache is small. */
const mostDepth = 320;
/** Blocks of the inner dimension that are packed at once (`P - 1` of `EvalParallelContext`). */
const blocksAtOnce = 2;
/** Numbers per packet of `TensorContractionBlocking` with TensorFlow's own kernel. */
const packet = 8;

/** Elements of an inner dimension that are packed at once. It is cut into slices of equal size. */
function packedDepth(inner: number): number {
  const slices = Math.max(1, Math.ceil(inner / mostDepth));
  const depth = Math.min(inner, Math.ceil(Math.floor(inner / slices) / packet) * packet);
  return Math.min(slices, blocksAtOnce) * depth;
}

/**
 * Both sides of a product, packed. If threads have enough blocks each, Eigen packs one block per thread instead, which
 * is less.
 */
const packed = (rows: number, inner: number, columns: number): number =>
  floatBytes * (rows + columns) * packedDepth(inner);

/** Sizes of a convolution. The last two dimensions of its filter are input and output channels. */
interface ConvolutionSides {
  /** Number of samples. */
  readonly samples: number;
  /** Output positions per sample. */
  readonly places: number;
  /** Elements of a patch. */
  readonly patch: number;
  /** Output channels. */
  readonly channels: number;
}

function sidesOf(filter: Shape, output: Shape): ConvolutionSides {
  const channels = last(filter);
  return {
    samples: output[0],
    places: sizeOf(output.slice(1, -1)),
    patch: sizeOf(filter) / channels,
    channels,
  };
}

const convolution: Rule = ({ inputs: [, filter], outputs: [output] }) => {
  const { samples, places, patch, channels } = sidesOf(filter, output);
  return packed(samples * places, patch, channels);
};

/** `Conv2DCustomBackpropFilterOp`: patches of as many samples as fill 30 MB, their product with `dy`, and a sum. */
const filterGradient: Rule = ({ inputs: [, dy], outputs: [filter] }) => {
  const { samples: all, places, patch, channels } = sidesOf(filter, dy);
  const sampleElements = places * patch + patch * channels + places * channels;
  const samples = Math.min(all, Math.max(1, Math.ceil((30 << 20) / floatBytes / sampleElements)));
  return floatBytes * patch * (samples * places + channels) + packed(patch, samples * places, channels);
};

/** `Conv2DCustomBackpropInputOp`: the patches of one sample, and the product that computes them. */
const inputGradient: Rule = ({ inputs: [dy, filter] }) => {
  const { places, patch, channels } = sidesOf(filter, dy);
  return floatBytes * places * patch + packed(places, channels, patch);
};

/** A batch of matrix products packs each matrix separately. */
const product: Rule = ({ inputs: [a], outputs: [output] }) => {
  const [rows, columns] = output.slice(-2);
  const batch = Math.max(1, sizeOf(output.slice(0, -2)));
  // Inferred from the number of elements, which also covers broadcast and transposed matrices.
  const inner = sizeOf(a.slice(-2)) / rows;
  return Number.isInteger(inner) && batch > 0 ? packed(rows, inner, columns) : 0;
};

/**
 * `SpatialMaxPoolWithArgMaxHelper`: a second copy of the pooled output, and the position of each maximum as a 64-bit
 * number.
 */
const maxPoolGradient: Rule = ({ inputs: [, , output] }) => (floatBytes + 8) * sizeOf(output);

/** A filter that oneDNN stores in another layout. */
const filterOf =
  (place: "inputs" | "outputs", index: number): Rule =>
  (op) =>
    floatBytes * sizeOf(op[place][index]);

type Rules = ReadonlyMap<string, Rule>;

const always: readonly (readonly [kernel: string, rule: Rule])[] = [["MaxPoolGrad", maxPoolGradient]];

const ofEigen: Rules = new Map([
  ...always,
  ["Conv2D", convolution],
  ["FusedConv2D", convolution],
  ["Conv3D", convolution],
  ["Conv2DBackpropFilter", filterGradient],
  ["Conv2DBackpropInput", inputGradient],
  ["BatchMatMul", product],
  ["_FusedMatMul", product],
]);

const ofOneDnn: Rules = new Map([
  ...always,
  ["Conv2D", filterOf("inputs", 1)],
  ["FusedConv2D", filterOf("inputs", 1)],
  ["Conv3D", filterOf("inputs", 1)],
  ["Conv2DBackpropFilter", filterOf("outputs", 0)],
  ["Conv2DBackpropInput", filterOf("inputs", 1)],
]);

/**
 * Returns an upper bound in bytes of the memory that TensorFlow's CPU kernels use outside of tensors while an op runs.
 * It is derived from the source of TensorFlow 2.21 and Eigen (`TensorContractionThreadPool.h`), and from resident
 * memory. Only memory that grows with the step is counted, not the 1 or 2 MB that each kernel also uses. With oneDNN,
 * convolutions need no patches.
 */
export function libraryBytes(op: OpShapes, isByOneDnn: boolean): number {
  return (isByOneDnn ? ofOneDnn : ofEigen).get(op.kernel)?.(op) ?? 0;
}
