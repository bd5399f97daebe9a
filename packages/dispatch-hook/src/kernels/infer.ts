import type { TensorInfo } from "@tensorflow/tfjs-core";
import type { KernelCall } from "./kernel-call.js";

/**
 * Returns the outputs of a kernel: shapes and dtypes, on new data ids or on those of its inputs. Throws if the real
 * kernel throws for its inputs' shapes. It runs for every call, so it should allocate only its outputs.
 */
export type Infer<Inputs = never, Attributes = never> = (
  inputs: Inputs,
  attributes: Attributes,
  call: KernelCall,
) => TensorInfo | TensorInfo[];

/** Kernels of a family by name. */
export type InferTable = Readonly<Record<string, Infer>>;

/** Inputs of a kernel with one operand. */
export interface X {
  /** The operand. */
  readonly x: TensorInfo;
}

/** Inputs of a kernel with two operands. */
export interface AB {
  /** The left operand. */
  readonly a: TensorInfo;
  /** The right operand. */
  readonly b: TensorInfo;
}

/** Applies one rule to several kernels. */
export function forAll(names: string, infer: Infer): InferTable {
  return Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, infer]),
  );
}
