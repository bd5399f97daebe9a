import { elementsOf } from "@remat/trace";
import type { FlopFormula } from "./call-arguments.js";

/** [m, k] · [k, n], or batched: two FLOPs for each element of the left side and column of the right. */
export function matmul(first: number, left: string, right: string): FlopFormula {
  return (a) => {
    let flops = 2 * (a.shape(first + 1, right).at(-1) ?? 0);
    for (const size of a.shape(first, left)) flops *= size;
    return flops;
  };
}

/** A matrix or a vector, times a vector: two FLOPs for each element of the left side. */
export function timesVector(position: number, name: string): FlopFormula {
  return (a) => 2 * elementsOf(sized(a.shape(position, name)));
}

/** A product with broadcast batches: two FLOPs for each element of the output and position of the inner dimension. */
export const broadcastMatmul: FlopFormula = (a) =>
  2 * elementsOf(sized(a.call.outputs[0]?.shape)) * (a.shape(0, "self").at(-1) ?? 0);

/** Rows times a transposed weight [out, in], or times a vector. */
export const linear: FlopFormula = (a) => {
  const weight = a.shape(1, "weight");
  return 2 * elementsOf(sized(a.shape(0, "input"))) * (weight.length === 2 ? weight[0] : 1);
};

/**
 * Products of groups of rows, or of columns, with one matrix for each group. The offsets of the groups are data, but
 * each row or column is in one group, so they do not change the count.
 */
export const groupedMatmul: FlopFormula = (a) => {
  const left = a.shape(0, "self");
  const right = a.shape(1, "mat2");
  const matrices = left.length === 3 && right.length === 2 ? left.slice(1) : left;
  return 2 * elementsOf(sized(matrices)) * (right.at(-1) ?? 0);
};

/** A missing tensor has no elements. */
function sized(shape: readonly number[] | undefined): readonly number[] {
  return shape === undefined || shape.length === 0 ? [0] : shape;
}
