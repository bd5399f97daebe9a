import type { BackendValues, DataType, Tensor, TensorInfo } from "@tensorflow/tfjs-core";
import type { KernelTraits } from "./kernel-traits.js";

/** A kernel call, as the rule for its outputs sees it. It makes the outputs and temporaries of the kernel. */
export interface KernelCall {
  /** The running kernel. */
  readonly kernel: string;
  /** Traits of its backend. */
  readonly traits: KernelTraits;

  /** Makes a tensor. */
  make(shape: number[], dtype: DataType): TensorInfo;
  /** Makes a tensor with known values. */
  makeKnown(shape: number[], dtype: DataType, values: BackendValues | undefined): TensorInfo;
  /** Makes a complex tensor with its own data ids and the values of the given parts, if known. */
  makeComplex(shape: number[], real?: BackendValues, imag?: BackendValues): TensorInfo;
  /** Makes a tensor on the data id of `x`. */
  share(x: TensorInfo, shape: number[], dtype: DataType): TensorInfo;
  /** Makes a tensor with the values of `x` and its own data id. */
  copy(x: TensorInfo, shape: number[], dtype: DataType): TensorInfo;
  /** Converts an output to a tensor of the engine, for kernels composed of TensorFlow.js ops. */
  tensorOf(made: TensorInfo | TensorInfo[]): Tensor;
  /** Runs another kernel inside this one, and returns its output. */
  run(kernel: string, inputs: object, attributes?: object): TensorInfo;
  /** Frees temporaries of the kernel. */
  release(...tensors: TensorInfo[]): void;

  /** Returns the values of a constant or a real tensor. Undefined for outputs of rules. */
  constant(x: TensorInfo): BackendValues | undefined;
  /** Returns the values of a constant. */
  kept(x: TensorInfo): BackendValues | undefined;
  /** Returns the values of a part of a complex tensor. */
  part(x: TensorInfo, which: "real" | "imag"): BackendValues | undefined;
  /** Throws the error for kernels whose output shapes depend on values. */
  dependsOnData(): never;
  /** Throws the error for kernels that need values. */
  readsData(): never;
}
