import type { CheckpointPolicy } from "@remat/memory/checkpointing";
import type { ShardingPlan } from "@remat/sharding";
import type { CategoryName, DeviceNetwork, DeviceSpec } from "@remat/trace";

/**
 * The objectives of a search: the most samples per second, the least cost per sample, the smallest peak memory, or the
 * largest batch.
 */
export const fitObjectives = ["throughput", "cost", "memory", "batch"] as const;
/** The objective of a search, one of {@link fitObjectives}. */
export type FitObjective = (typeof fitObjectives)[number];

/** The precisions in which a step can compute. `f32` is the traced or recorded precision. */
export const fitPrecisions = ["f32", "bf16"] as const;
/** The precision of a step, one of {@link fitPrecisions}. */
export type FitPrecision = (typeof fitPrecisions)[number];

/** The names of the strategies to run a step. */
export const fitWayNames = ["stock", "early-release", "update-in-backward", "recompute", "offload"] as const;
/** The name of a strategy to run a step, one of {@link fitWayNames}. */
export type FitWayName = (typeof fitWayNames)[number];

/** A choice of everything except the batch, for training on one kind of device. */
export interface FitConfiguration {
  readonly device: string;
  /** The optimizer. Undefined for the recorded one, or the model's own. */
  readonly optimizer?: string;
  readonly precision: FitPrecision;
  readonly way: FitWayName;
  /** The number of devices over which the weights are sharded, or 1 if they are not. */
  readonly ranks: number;
  /** The wrapped modules, or undefined on one device. */
  readonly wrap?: readonly string[];
}

/**
 * A unit of work: the search for the batch of one configuration. It is plain data, so it can be sent to a thread or
 * another machine. With the same model or runs, the answer is the same on every machine.
 */
export interface FitUnit {
  readonly configuration: FitConfiguration;
  /** The specification of the device that the configuration names. */
  readonly spec: DeviceSpec;
  /** The network between devices, if the device spec has none or another network is given. */
  readonly network?: DeviceNetwork;
  /** The memory that a step may use, in bytes. */
  readonly memoryBytes: number;
  /** The batches to consider, smallest first, each per rank and per pass. */
  readonly batches: readonly number[];
  /** The samples of a step over all ranks and micro-batches. Default: the samples of one pass on all ranks. */
  readonly globalBatch?: number;
  /**
   * True if the times that were measured with a recorded run are kept. This requires one run and one device, because
   * there are no measured times for other devices or batches. Default: false.
   */
  readonly keepsMeasured?: boolean;
  /** The maximum additional time of a step, as a fraction of a step without recomputation or transfers. */
  readonly maxOverhead: number;
  readonly objective: FitObjective;
  /** The number of changes that a search for a plan tries. */
  readonly iterations: number;
  /** The seed of the search. Together with the number of changes, it makes plans reproducible. */
  readonly seed: number;
  /** The number of plans to search for, in addition to the plans that find the largest batch. */
  readonly morePlans: number;
  /**
   * Factors by which the number of changes is multiplied, one after the other, for batches larger than the largest one
   * with a plan.
   */
  readonly efforts: readonly number[];
}

/** The memory and time of a step with some batch. */
export interface FitStep {
  /** The batch per rank and per pass. */
  readonly batch: number;
  /** Peak memory of a step, in bytes. */
  readonly peakBytes: number;
  /**
   * The largest amount of memory that kernels use in addition to tensors. It is reserved for them and is not part of
   * the peak. Left out if it is 0.
   */
  readonly libraryBytes?: number;
  /** Bytes in use at the peak. */
  readonly bytesByCategory: Readonly<Partial<Record<CategoryName, number>>>;
  /** Time of the step in milliseconds. Undefined if ops have no times. */
  readonly stepMs: number | undefined;
  /**
   * The additional time relative to running every op once, as a fraction. It is 0 if nothing is recomputed or moved.
   */
  readonly overhead: number;
  /**
   * The optimality gap of a plan: an upper bound on how much cheaper another plan could be, as a fraction of the step.
   */
  readonly gap?: number;
  /** The factor by which the search's iterations were multiplied to find the plan. Default: 1. */
  readonly effort?: number;
  /** The sharding plan of a rank. */
  readonly sharding?: ShardingPlan;
  /** The checkpoint policy on one device with PyTorch. */
  readonly policy?: CheckpointPolicy;
}

/** A configuration with its best batch. */
export interface FitRow extends FitStep {
  readonly configuration: FitConfiguration;
  /** The memory for tensors: the memory of the unit without the part reserved for kernels. */
  readonly memoryBytes: number;
  /** The passes of a step on each rank. */
  readonly microBatches: number;
  /** Samples per second over all ranks, or undefined if ops have no times. */
  readonly samplesPerSecond: number | undefined;
  /**
   * True if the batch is the last one of a range of several, so that larger batches were not examined and may fit. Left
   * out otherwise.
   */
  readonly endsRange?: true;
  /** The next larger batch that was tried and does not fit, or undefined if none exists. */
  readonly next: NotFitting | undefined;
}

/** A batch that does not fit, and the reason. */
export interface NotFitting {
  readonly batch: number;
  /** The smallest peak that was found. */
  readonly peakBytes: number;
  /** The largest amount of memory that kernels use in addition to the peak. Left out if it is 0. */
  readonly libraryBytes?: number;
  /** The category with the largest part of the peak. */
  readonly binds: CategoryName | "time";
  /** The bytes of that category at the peak, or 0 if `binds` is `time`. */
  readonly bindsBytes: number;
  /** True if it is proven that no step with this batch fits, false if no plan was found. */
  readonly isProven: boolean;
  /**
   * Batches for which neither a plan nor a proof against one was found. They are larger than all batches that fit. Left
   * out if there are none.
   */
  readonly unproven?: BatchRange;
}

/** A range of batches, both ends included. */
export interface BatchRange {
  readonly from: number;
  readonly to: number;
}

/**
 * The answer to a unit: a row if a batch fits, the smallest batch if none fits, or the reason why the configuration is
 * impossible.
 */
export type FitAnswer =
  | { readonly kind: "fits"; readonly row: FitRow }
  | { readonly kind: "not-fitting"; readonly configuration: FitConfiguration; readonly smallest: NotFitting }
  | { readonly kind: "refused"; readonly configuration: FitConfiguration; readonly reason: string };
