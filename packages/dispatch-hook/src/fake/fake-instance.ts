import type { DataId, DataType, KernelBackend, TensorInfo } from "@tensorflow/tfjs-core";
import type { Backend } from "../backends/index.js";

/** Interface of a backend that computes nothing, for fake mode. @internal */
export interface FakeInstance extends KernelBackend {
  /** The simulated backend. */
  readonly standsFor: Backend;
  /** The running kernel. */
  kernel: string;
  /** Returns a new tensor without values. */
  make(shape: number[], dtype: DataType): TensorInfo;
  /** Forgets the values of a tensor that represents a weight. */
  forget(dataId: DataId, madeBy: string): void;
}
