import { backend_util, type DataType, type TensorInfo, upcastType } from "@tensorflow/tfjs-core";
import type { Infer } from "./infer.js";
import type { KernelCall } from "./kernel-call.js";
import { broadcast, mismatch, sumDtype } from "./shapes.js";

interface ParsedEinsum {
  readonly equation: string;
  /** Number of dimensions of the output, which come first among all dimensions. */
  readonly outputRank: number;
  readonly allRank: number;
  /** The dimensions of each operand. */
  readonly idDims: number[][];
  /** The dimension that is summed after each step, or -1. */
  readonly path: number[];
  /** The operands that each step multiplies in. */
  readonly steps: number[][];
  /** True if some operands are multiplied in after the first dimension is summed. */
  readonly late: boolean;
}

const parsedEinsums = new Map<string, ParsedEinsum>();

function parseEinsum(equation: string, operands: number): ParsedEinsum {
  const key = `${operands} ${equation}`;
  let parsed = parsedEinsums.get(key);
  if (parsed === undefined) {
    const { allDims, summedDims, idDims } = backend_util.decodeEinsumEquation(equation, operands);
    const outputRank = allDims.length - summedDims.length;
    // This modifies summedDims.
    const { path, steps } = backend_util.getEinsumComputePath(summedDims, idDims);
    const late = steps[0].length < operands;
    parsed = { equation, outputRank, allRank: allDims.length, idDims, path, steps, late };
    parsedEinsums.set(key, parsed);
  }
  return parsed;
}

function dimensionSizes(
  tensors: TensorInfo[],
  { equation, allRank, idDims }: ParsedEinsum,
  call: KernelCall,
): number[] {
  const sizes = new Array<number>(allRank).fill(-1);
  for (let i = 0; i < tensors.length; i++) {
    const { shape } = tensors[i];
    if (shape.length !== idDims[i].length) mismatch(call, `operand ${i} of '${equation}' has shape [${shape}]`);
    for (let j = 0; j < shape.length; j++) {
      const dim = idDims[i][j];
      if (sizes[dim] !== -1 && sizes[dim] !== shape[j]) {
        mismatch(call, `operands of '${equation}' disagree on a dimension: ${sizes[dim]}, ${shape[j]}`);
      }
      sizes[dim] = shape[j];
    }
  }
  return sizes;
}

/** A product has the dtype of its last operand. */
function productDtype(tensors: TensorInfo[], { path, steps }: ParsedEinsum): DataType {
  let dtype: DataType | undefined;
  for (let i = 0; i < steps.length; i++) {
    for (const term of steps[i]) dtype = dtype === "complex64" ? dtype : tensors[term].dtype;
    if (i < steps.length - 1 && path[i] >= 0 && dtype !== undefined) dtype = sumDtype(dtype);
  }
  return dtype ?? tensors[0].dtype;
}

/**
 * Repeats the cpu kernel's own computation step by step. That kernel misplaces an operand that comes in after a
 * dimension was summed, and drops an operand without summed dimensions. So `i,j->` and `i,j->j` get another shape than
 * the equation specifies.
 */
function misplacedShape(
  tensors: TensorInfo[],
  { allRank, idDims, path, steps }: ParsedEinsum,
  call: KernelCall,
): number[] {
  let out: number[] | undefined;
  let remaining = allRank;
  for (let i = 0; i < steps.length; i++) {
    for (const term of steps[i]) {
      const { permutationIndices, expandDims } = backend_util.getEinsumPermutation(remaining, idDims[term]);
      const shape = permutationIndices.map((from) => tensors[term].shape[from]);
      for (const dim of expandDims) shape.splice(dim, 0, 1);
      out = out === undefined ? shape : broadcast(shape, out, call);
    }
    if (i === steps.length - 1) continue;
    if (path[i] >= 0) out = out?.filter((_, dim) => dim !== path[i] - (allRank - remaining));
    remaining--;
  }
  return out ?? [];
}

/** Multiplies operands from left to right, and sums a dimension as soon as no later operand has it. @internal */
export const einsum: Infer<TensorInfo[], { equation: string }> = (tensors, { equation }, call) => {
  const parsed = parseEinsum(equation, tensors.length);
  const { outputRank, allRank, idDims, late } = parsed;
  const sizes = dimensionSizes(tensors, parsed, call);
  if (call.traits.unifiesDtypes) {
    return call.make(sizes.slice(0, outputRank), tensors.map((t) => t.dtype).reduce(upcastType));
  }
  // If nothing is permuted or summed, the operand itself is returned.
  if (call.traits.returnsLoneOperand && tensors.length === 1 && outputRank === allRank && inOrder(idDims[0]))
    return tensors[0];
  const shape = late ? misplacedShape(tensors, parsed, call) : sizes.slice(0, outputRank);
  return call.make(shape, productDtype(tensors, parsed));
};

function inOrder(dims: number[]): boolean {
  for (let i = 0; i < dims.length; i++) if (dims[i] !== i) return false;
  return true;
}
