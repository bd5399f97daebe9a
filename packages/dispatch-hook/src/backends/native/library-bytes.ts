import type { OpShapes } from "../backend.js";

/** Every rule is of tensors of as many bytes an element. */
const floatBytes = 4;

type Rule = (op: OpShapes) => number;
type Shape = readonly number[];

const sizeOf = (shape: Shape): number => shape.reduce((product, side) => product * side, 1);
const last = (shape: Shape): number => shape.at(-1) ?? 1;

/** `kc` of `computeProductBlockingSizes` where several threads compute: less, where the first cache is small. */
const mostDepth = 320;
/** Blocks of the inner side that are packed at once (`P - 1` of `EvalParallelContext`). */
const blocksAtOnce = 2;
/** `TensorContractionBlocking` with TensorFlow's own kernel, in numbers. */
const packet = 8;

/** Of an inner side the elements that are packed at once: it is cut into slices of the same size. */
function packedDepth(inner: number): number {
  const slices = Math.max(1, Math.ceil(inner / mostDepth));
  const depth = Math.min(inner, Math.ceil(Math.floor(inner / slices) / packet) * packet);
  return Math.min(slices, blocksAtOnce) * depth;
}

/** Both sides of a product, packed. Where threads have enough blocks each, Eigen packs one block a thread instead, which is less. */
const packed = (rows: number, inner: number, columns: number): number =>
  floatBytes * (rows + columns) * packedDepth(inner);

/** Of a convolution with a filter of whatever sides, the last two of which are channels in and out. */
interface ConvolutionSides {
  /** Samples, and places of one in the output. */
  readonly samples: number;
  readonly places: number;
  /** Elements of a patch, and channels out. */
  readonly patch: number;
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

/** `Conv2DCustomBackpropFilterOp`: patches of so many samples at once that 30 MB are taken, their product with `dy`, and a sum. */
const filterGradient: Rule = ({ inputs: [, dy], outputs: [filter] }) => {
  const { samples: all, places, patch, channels } = sidesOf(filter, dy);
  const sampleElements = places * patch + patch * channels + places * channels;
  const samples = Math.min(all, Math.max(1, Math.ceil((30 << 20) / floatBytes / sampleElements)));
  return floatBytes * patch * (samples * places + channels) + packed(patch, samples * places, channels);
};

/** `Conv2DCustomBackpropInputOp`: the patches of a sample, and the product that they are. */
const inputGradient: Rule = ({ inputs: [dy, filter] }) => {
  const { places, patch, channels } = sidesOf(filter, dy);
  return floatBytes * places * patch + packed(places, channels, patch);
};

/** Each of a batch of matrices by itself. */
const product: Rule = ({ inputs: [a], outputs: [output] }) => {
  const [rows, columns] = output.slice(-2);
  const batch = Math.max(1, sizeOf(output.slice(0, -2)));
  // Of one that is broadcast, or transposed, only its elements tell.
  const inner = sizeOf(a.slice(-2)) / rows;
  return Number.isInteger(inner) && batch > 0 ? packed(rows, inner, columns) : 0;
};

/** `SpatialMaxPoolWithArgMaxHelper`: the pooled output again, and where each maximum is, as 64-bit numbers. */
const maxPoolGradient: Rule = ({ inputs: [, , output] }) => (floatBytes + 8) * sizeOf(output);

/** What oneDNN keeps in another order. */
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
 * Returns what TensorFlow's kernel for CPUs holds beside tensors, at most, while an op runs: as read in TensorFlow 2.21 and Eigen (`TensorContractionThreadPool.h`), and seen in what is resident.
 * It is what grows with the step that is counted, not the 1 or 2 MB that each kernel takes besides. By oneDNN convolutions are laid out nowhere.
 */
export function libraryBytes(op: OpShapes, isByOneDnn: boolean): number {
  return (isByOneDnn ? ofOneDnn : ofEigen).get(op.kernel)?.(op) ?? 0;
}
