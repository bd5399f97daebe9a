import type { BackendValues, DataType, Tensor, TensorInfo } from "@tensorflow/tfjs-core";
import type { KernelTraits } from "./kernel-traits.js";

/** A call of a kernel, as the rule sees it that says what the kernel returns: makes the results, and whatever the kernel holds on the way. */
export interface KernelCall {
  /** The kernel that is running. */
  readonly kernel: string;
  /** Of the backend on which it runs. */
  readonly traits: KernelTraits;

  /** Makes a tensor. */
  make(shape: number[], dtype: DataType): TensorInfo;
  /** Makes a tensor whose values are known. */
  makeKnown(shape: number[], dtype: DataType, values: BackendValues | undefined): TensorInfo;
  /** Makes a complex tensor on data ids of its own; the values are those of the given parts, where known. */
  makeComplex(shape: number[], real?: BackendValues, imag?: BackendValues): TensorInfo;
  /** Makes a tensor on the data id of `x`. */
  share(x: TensorInfo, shape: number[], dtype: DataType): TensorInfo;
  /** Makes a tensor with the values of `x` on a data id of its own. */
  copy(x: TensorInfo, shape: number[], dtype: DataType): TensorInfo;
  /** Makes what was made a tensor of the engine, for kernels that are composed of tfjs ops. */
  tensorOf(made: TensorInfo | TensorInfo[]): Tensor;
  /** Runs another kernel inside this one, and returns what that returns. */
  run(kernel: string, inputs: object, attributes?: object): TensorInfo;
  /** Frees what the kernel made for itself. */
  release(...tensors: TensorInfo[]): void;

  /** Returns the values of a constant, or of a real tensor; undefined for anything that a rule made. */
  constant(x: TensorInfo): BackendValues | undefined;
  /** Returns the values of a constant. */
  kept(x: TensorInfo): BackendValues | undefined;
  /** Returns the values of a part of a complex tensor. */
  part(x: TensorInfo, which: "real" | "imag"): BackendValues | undefined;
  /** Throws what a kernel throws whose output shapes depend on values. */
  dependsOnData(): never;
  /** Throws what a kernel throws that needs values to do its work. */
  readsData(): never;
}
