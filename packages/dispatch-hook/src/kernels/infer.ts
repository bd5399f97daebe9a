import type { TensorInfo } from "@tensorflow/tfjs-core";
import type { KernelCall } from "./kernel-call.js";

/**
 * Says what a kernel returns: shapes and dtypes, on new data ids or on those of its inputs. Throws where the real kernel throws for its
 * inputs' shapes. Runs for every call, so it should make nothing but its outputs.
 */
export type Infer<Inputs = never, Attributes = never> = (
  inputs: Inputs,
  attributes: Attributes,
  call: KernelCall,
) => TensorInfo | TensorInfo[];

/** Kernels of a family by name. */
export type InferTable = Readonly<Record<string, Infer>>;

export interface X {
  readonly x: TensorInfo;
}

export interface AB {
  readonly a: TensorInfo;
  readonly b: TensorInfo;
}

/** Makes one rule for several kernels. */
export function forAll(names: string, infer: Infer): InferTable {
  return Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, infer]),
  );
}
