import type { HeldPeak } from "@remat/memory";
import type { DeviceSpec, Trace } from "@remat/trace";

/** The training step of a model at any batch, traced from the model itself or derived from recorded runs. */
export interface StepsToFit {
  readonly name: string;
  readonly framework: string;
  /** The optimizers that may be requested. If left out, `stepAt` rejects optimizers that are not supported. */
  readonly optimizers?: readonly string[];
  /** Returns the step without changes. */
  stepAt(batch: number, optimizer: string | undefined): Promise<Trace>;
  /**
   * Returns the step for planning and early release. It uses remat's faster gradient functions and no manual
   * checkpointing, since the plan decides on recomputation. If this method is left out, `stepAt` is used instead.
   */
  freeStepAt?(batch: number, optimizer: string | undefined): Promise<Trace>;
  /** Returns the peak of a step with early release. Left out if it is unknown. */
  releasedPeakAt?(batch: number, optimizer: string | undefined, updateInBackward: boolean): Promise<HeldPeak>;
  /**
   * Returns approximations of the same steps that are faster to compute, scaled from a few steps. A search confirms its
   * results with the real steps. Returns undefined if the steps cannot be scaled. Left out if there are no faster
   * approximations.
   */
  scaled?(optimizer: string | undefined): Promise<StepsToFit | undefined>;
  /**
   * Returns the largest amount of memory that kernels use on a device, in addition to tensors, while an op of a step
   * runs. It is reserved for them. Left out if it is unknown.
   */
  libraryBytesAt?(batch: number, optimizer: string | undefined, spec: DeviceSpec): Promise<number>;
  /** The error of predictions from recorded runs, in bytes. Left out if none exists. */
  readonly residualBytes?: number;
  /** True if the run has measured times. */
  readonly isMeasured?: boolean;
  /** The batches at which the runs were recorded. Left out if the steps come from the model itself. */
  readonly recordedBatches?: readonly number[];
}
