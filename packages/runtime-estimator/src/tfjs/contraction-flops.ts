import { elementsOf } from "@remat/trace";
import { type OpCall } from "../op-call.js";
import { epilogueFlops } from "./elementwise-flops.js";
import { inputElements, type KernelFormula, outputElements } from "./kernel-formula.js";

/**
 * Two FLOPs for each output element and position of the inner dimension. The output's shape accounts for broadcast
 * batches.
 */
const matMul: KernelFormula = (call) => {
  const left = call.inputs[0]?.shape ?? [];
  const inner = left[left.length - (call.attributes?.["transposeA"] === true ? 2 : 1)] ?? 0;
  return 2 * outputElements(call) * inner;
};

/** Elements of a filter [height, width, in, out] that contribute to each output element. */
function filterPerOutput(filter: readonly number[]): number {
  return elementsOf(filter.slice(0, -1));
}

/**
 * Each element of a convolution's output uses the filter once, with two FLOPs per filter element. For the two
 * gradients, the elements of `dy` count instead. Shapes account for strides, dilations, padding and data format.
 * Padding counts as data, as in PyTorch's formulas.
 */
const convolution: KernelFormula = (call) => 2 * outputElements(call) * filterPerOutput(call.inputs[1]?.shape ?? [0]);

const convolutionGradInput: KernelFormula = (call) =>
  2 * inputElements(call, 0) * filterPerOutput(call.inputs[1]?.shape ?? [0]);

const convolutionGradFilter: KernelFormula = (call) =>
  2 * inputElements(call, 1) * filterPerOutput(call.outputs[0]?.shape ?? [0]);

/**
 * Elements of a depthwise filter [height, width, in, multiplier] that contribute to each output element: those of one
 * channel.
 */
function depthwisePerOutput(filter: readonly number[]): number {
  return elementsOf(filter.slice(0, -2));
}

const depthwise: KernelFormula = (call) =>
  2 * outputElements(call) * depthwisePerOutput(call.inputs[1]?.shape ?? [0, 0, 0]);

const depthwiseGradInput: KernelFormula = (call) =>
  2 * inputElements(call, 0) * depthwisePerOutput(call.inputs[1]?.shape ?? [0, 0, 0]);

const depthwiseGradFilter: KernelFormula = (call) =>
  2 * inputElements(call, 1) * depthwisePerOutput(call.outputs[0]?.shape ?? [0, 0, 0]);

/** Two FLOPs (multiply, add) for each combination of index values, or one if nothing is multiplied or summed. */
const einsum: KernelFormula = (call) => {
  const [terms = "", result = ""] = String(call.attributes?.["equation"] ?? "")
    .replace(/\s/g, "")
    .split("->");
  const sizes = new Map<string, number>();
  for (const [term, letters] of terms.split(",").entries())
    for (const [axis, letter] of [...letters].entries()) sizes.set(letter, call.inputs[term]?.shape[axis] ?? 0);
  const products = Math.max(0, call.inputs.length - 1);
  const sums = [...sizes.keys()].some((letter) => !result.includes(letter)) ? 1 : 0;
  return (products + sums) * elementsOf([...sizes.values()]);
};

/** Matrix products and convolutions without fused ops: each multiplication includes the addition of its result. */
const contractions: Readonly<Record<string, KernelFormula>> = {
  BatchMatMul: matMul,
  _FusedMatMul: matMul,
  Einsum: einsum,
  Conv2D: convolution,
  Conv3D: convolution,
  FusedConv2D: convolution,
  Conv2DBackpropInput: convolutionGradInput,
  Conv3DBackpropInputV2: convolutionGradInput,
  Conv2DBackpropFilter: convolutionGradFilter,
  Conv3DBackpropFilterV2: convolutionGradFilter,
  DepthwiseConv2dNative: depthwise,
  FusedDepthwiseConv2D: depthwise,
  DepthwiseConv2dNativeBackpropInput: depthwiseGradInput,
  DepthwiseConv2dNativeBackpropFilter: depthwiseGradFilter,
};

const fused: ReadonlySet<string> = new Set(["_FusedMatMul", "FusedConv2D", "FusedDepthwiseConv2D"]);

const withEpilogue =
  (formula: KernelFormula): KernelFormula =>
  (call: OpCall) =>
    formula(call) + epilogueFlops(call);

/** Matrix products and convolutions with their fused ops. */
export const contractionFormulas: Readonly<Record<string, KernelFormula>> = Object.fromEntries(
  Object.entries(contractions).map(([name, formula]) => [name, fused.has(name) ? withEpilogue(formula) : formula]),
);

/** Returns the FLOPs of a matrix product or a convolution without its fused ops. Returns 0 for other kernels. */
export function contractionFlops(call: OpCall): number {
  return contractions[call.name]?.(call) ?? 0;
}
