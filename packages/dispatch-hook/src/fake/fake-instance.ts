import type { DataId, DataType, KernelBackend, TensorInfo } from "@tensorflow/tfjs-core";
import type { Backend } from "../backends/index.js";

/** What fake mode asks of a backend that computes nothing. @internal */
export interface FakeInstance extends KernelBackend {
  /** The backend that it imitates. */
  readonly standsFor: Backend;
  /** The kernel that is running. */
  kernel: string;
  /** Returns a new tensor without values. */
  make(shape: number[], dtype: DataType): TensorInfo;
  /** Forgets the values of a tensor that stands for a weight. */
  forget(dataId: DataId, madeBy: string): void;
}
