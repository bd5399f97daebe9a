import { elementsOf } from "@remat/trace";
import { type OpCall } from "../op-call.js";

/** Returns the FLOPs of one call of a TensorFlow.js kernel. */
export type KernelFormula = (call: OpCall) => number;

/** Returns the number of elements of input `index`, or 0 if there is no such input. */
export function inputElements(call: OpCall, index: number): number {
  return elementsOf(call.inputs[index]?.shape ?? [0]);
}

/** Returns the number of elements of output `index`, or 0 if there is no such output. */
export function outputElements(call: OpCall, index = 0): number {
  return elementsOf(call.outputs[index]?.shape ?? [0]);
}

/** Returns `flops` for each element of the first output. */
export function perOutput(flops: number): KernelFormula {
  return (call) => flops * outputElements(call);
}

/** Returns `flops` for each element of input `index`. */
export function perInput(flops: number, index = 0): KernelFormula {
  return (call) => flops * inputElements(call, index);
}

/** The kernel only moves, reads or creates data. */
export const noFlops: KernelFormula = () => 0;

/** Returns the product of an attribute that is either one number for all `rank` dimensions or one number for each. */
export function product(value: unknown, rank: number): number {
  if (typeof value === "number") return value ** rank;
  return Array.isArray(value) ? elementsOf(value as number[]) : 1;
}
