import { elementsOf } from "@remat/trace";
import type { CallArguments } from "./call-arguments.js";

type Shape = readonly number[];

/**
 * Returns the FLOPs of a convolution over NC… tensors. Every element of the weight meets every spatial position of the
 * output, or of the input if the convolution is transposed. The weight's shape already accounts for groups. Padding
 * counts as data, and the bias does not count (both as in PyTorch).
 */
function convolutionFlops(input: Shape, weight: Shape, output: Shape, transposed: boolean): number {
  if (input.length === 0 || weight.length === 0) return 0;
  return 2 * input[0] * elementsOf(weight) * elementsOf((transposed ? input : output).slice(2));
}

export function convolution(a: CallArguments): number {
  const output = a.call.outputs[0]?.shape ?? [];
  return convolutionFlops(a.shape(0, "input"), a.shape(1, "weight"), output, a.value(6, "transposed") === true);
}

/**
 * Returns the FLOPs of a convolution whose schema has no `transposed`: cuDNN's and the slow CPU one. (For cuDNN's,
 * PyTorch reads the `benchmark` flag as `transposed`.)
 */
export function plainConvolution(a: CallArguments): number {
  return convolutionFlops(a.shape(0, "self"), a.shape(1, "weight"), a.call.outputs[0]?.shape ?? [], false);
}

/**
 * Returns the FLOPs of both convolutions in the backward pass. The input's gradient is the opposite convolution
 * (transposed or not) of the output's gradient with the weight. The weight's gradient is the convolution of the input
 * with the output's gradient, with batch and channels swapped.
 */
export function convolutionBackward(a: CallArguments): number {
  const gradOutput = a.shape(0, "grad_output");
  const input = a.shape(1, "input");
  const weight = a.shape(2, "weight");
  if (gradOutput.length === 0 || input.length === 0 || weight.length === 0) return 0;
  const transposed = a.value(7, "transposed") === true;
  const mask = a.value(10, "output_mask");
  const [wantsInput, wantsWeight] = Array.isArray(mask) ? (mask as boolean[]) : [true, true];
  let flops = 0;
  if (wantsInput) flops += convolutionFlops(gradOutput, weight, input, !transposed);
  if (wantsWeight) {
    flops += transposed
      ? convolutionFlops(exchange(gradOutput), exchange(input), exchange(weight), false)
      : convolutionFlops(exchange(input), exchange(gradOutput), exchange(weight), false);
  }
  return flops;
}

function exchange(shape: Shape): Shape {
  return [shape[1], shape[0], ...shape.slice(2)];
}
