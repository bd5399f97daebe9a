import type { HeldPeak } from "@remat/memory";
import type { DeviceSpec, Trace } from "@remat/trace";

/** A training step of some model, at any batch: of a model that is there, or as it follows from recorded runs. */
export interface StepsToFit {
  readonly name: string;
  readonly framework: string;
  /** Names of the optimizers that may be asked for; left out: `stepAt` says so. */
  readonly optimizers?: readonly string[];
  /** Returns the step as it runs. */
  stepAt(batch: number, optimizer: string | undefined): Promise<Trace>;
  /** Returns the step to be planned, and of early release: with its gradients, and it is up to the plan what is recomputed; left out: it is as it runs. */
  freeStepAt?(batch: number, optimizer: string | undefined): Promise<Trace>;
  /** Returns what a step holds with early release; left out where nobody can say. */
  releasedPeakAt?(batch: number, optimizer: string | undefined, updateInBackward: boolean): Promise<HeldPeak>;
  /**
   * Returns the same steps by a quicker way, scaled from a few: what a search finds by them is asked of the steps themselves before it is an answer. Undefined where they cannot be scaled; left
   * out: there is no quicker way.
   */
  scaled?(optimizer: string | undefined): Promise<StepsToFit | undefined>;
  /** Returns what kernels hold on a device beside tensors, at most, while an op of a step runs: so much is kept for them. Left out: nothing is known. */
  libraryBytesOf?(trace: Trace, spec: DeviceSpec): number;
  /** What follows from recorded runs may be off by so many bytes; left out: nothing. */
  readonly residualBytes?: number;
  /** Whether the run tells what its ops took. */
  readonly isMeasured?: boolean;
  /** At which batches the runs were recorded; left out: of a model that is there. */
  readonly recordedBatches?: readonly number[];
}
