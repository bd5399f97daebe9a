import type { HeldPeak } from "@remat/memory";
import type { DeviceSpec, Trace } from "@remat/trace";

/** The training step of a model at any batch, traced from the model itself or derived from recorded runs. */
export interface StepsToFit {
  readonly name: string;
  readonly framework: string;
  /** The optimizers that may be requested. If it is left out, `stepAt` decides. */
  readonly optimizers?: readonly string[];
  /** Returns the step as it runs. */
  stepAt(batch: number, optimizer: string | undefined): Promise<Trace>;
  /**
   * Returns the step for planning and early release, with its gradients. Recomputation is left to the plan. If it is
   * left out, the step as it runs is used.
   */
  freeStepAt?(batch: number, optimizer: string | undefined): Promise<Trace>;
  /** Returns the peak of a step with early release. Left out if it is unknown. */
  releasedPeakAt?(batch: number, optimizer: string | undefined, updateInBackward: boolean): Promise<HeldPeak>;
  /**
   * Returns the same steps by a faster way, scaled from a few. A search confirms its results with the real steps. It
   * returns undefined if the steps cannot be scaled. Left out if there is no faster way.
   */
  scaled?(optimizer: string | undefined): Promise<StepsToFit | undefined>;
  /**
   * Returns the most memory that kernels use on a device in addition to tensors while an op of a step runs. It is
   * reserved for them. Left out if it is unknown.
   */
  libraryBytesOf?(trace: Trace, spec: DeviceSpec): number;
  /** The error of predictions from recorded runs, in bytes. Left out if there is none. */
  readonly residualBytes?: number;
  /** True if the run has measured times. */
  readonly isMeasured?: boolean;
  /** The batches at which the runs were recorded. Left out if the steps come from the model itself. */
  readonly recordedBatches?: readonly number[];
}
