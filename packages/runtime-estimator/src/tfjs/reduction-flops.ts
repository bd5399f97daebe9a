import type { OpCall } from "../op-call.js";
import { specialFunction } from "./elementwise-flops.js";
import { inputElements, type KernelFormula, noFlops, outputElements, perInput, perOutput } from "./kernel-formula.js";

/** 5 · n · log2 n for each transform of n complex points: the usual count of the radix-2 algorithm. */
const fft: KernelFormula = (call) => {
  const points = call.inputs[0]?.shape.at(-1) ?? 0;
  return points <= 1 ? 0 : 5 * inputElements(call, 0) * Math.log2(points);
};

/** A binary search of each value in its sorted row. */
const search: KernelFormula = (call) => {
  const sorted = call.inputs[0]?.shape.at(-1) ?? 0;
  return inputElements(call, 1) * Math.ceil(Math.log2(sorted + 1));
};

/** Each element is sifted through a heap of k. */
const topK: KernelFormula = (call) => inputElements(call, 0) * (1 + Math.ceil(Math.log2(keptPerRow(call))));

function keptPerRow(call: OpCall): number {
  return Math.max(1, call.outputs[0]?.shape.at(-1) ?? 1);
}

/** Running sums of the probabilities, then a comparison with each of them for every sample. */
const multinomial: KernelFormula = (call) => {
  const outcomes = call.inputs[0]?.shape.at(-1) ?? 0;
  return inputElements(call, 0) * (specialFunction + 1) + outputElements(call) * outcomes;
};

/** Kernels that combine elements. */
export const reductionFlops: Readonly<Record<string, KernelFormula>> = {
  All: perInput(1),
  Any: perInput(1),
  ArgMax: perInput(1),
  ArgMin: perInput(1),
  Bincount: perInput(1),
  Cumprod: perOutput(1),
  Cumsum: perOutput(1),
  DenseBincount: perInput(1),
  FFT: fft,
  IFFT: fft,
  // Maximum, difference, exponential, sum. Then a quotient, or a logarithm per row and a difference.
  LogSoftmax: perOutput(specialFunction + 4),
  Softmax: perOutput(2 * specialFunction + 3),
  LowerBound: search,
  UpperBound: search,
  SearchSorted: search,
  Max: perInput(1),
  Mean: (call) => inputElements(call, 0) + outputElements(call),
  Min: perInput(1),
  Multinomial: multinomial,
  // The number of overlapping boxes depends on the data.
  NonMaxSuppressionV3: noFlops,
  NonMaxSuppressionV4: noFlops,
  NonMaxSuppressionV5: noFlops,
  Prod: perInput(1),
  ScatterNd: perInput(1, 1),
  SparseSegmentMean: perInput(1),
  SparseSegmentSum: perInput(1),
  Sum: perInput(1),
  TopK: topK,
  Unique: noFlops,
  UnsortedSegmentSum: perInput(1),
};
