import { elementsOf } from "@remat/trace";
import { type OpCall } from "../op-call.js";

/** FLOPs of one call of a tfjs kernel. */
export type KernelFormula = (call: OpCall) => number;

/** Returns elements of input `index`; 0 where there is none. */
export function inputElements(call: OpCall, index: number): number {
  return elementsOf(call.inputs[index]?.shape ?? [0]);
}

/** Returns elements of output `index`; 0 where there is none. */
export function outputElements(call: OpCall, index = 0): number {
  return elementsOf(call.outputs[index]?.shape ?? [0]);
}

/** Returns `flops` for every element of the first output. */
export function perOutput(flops: number): KernelFormula {
  return (call) => flops * outputElements(call);
}

/** Returns `flops` for every element of input `index`. */
export function perInput(flops: number, index = 0): KernelFormula {
  return (call) => flops * inputElements(call, index);
}

/** Moves data, looks at it or makes it, and computes nothing with it. */
export const noFlops: KernelFormula = () => 0;

/** Returns an attribute that tfjs takes as one number for all `rank` dimensions or one each, multiplied out. */
export function product(value: unknown, rank: number): number {
  if (typeof value === "number") return value ** rank;
  return Array.isArray(value) ? elementsOf(value as number[]) : 1;
}
