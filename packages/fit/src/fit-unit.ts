import type { CheckpointPolicy } from "@remat/memory/checkpointing";
import type { ShardingPlan } from "@remat/sharding";
import type { CategoryName, DeviceNetwork, DeviceSpec } from "@remat/trace";

/** What is best: the most samples a second, the least money for a sample, the least memory, or the largest batch. */
export const fitObjectives = ["throughput", "cost", "memory", "batch"] as const;
export type FitObjective = (typeof fitObjectives)[number];

/** In which precision a step computes; `f32` is as it was traced or recorded. */
export const fitPrecisions = ["f32", "bf16"] as const;
export type FitPrecision = (typeof fitPrecisions)[number];

/** How a step is taken. */
export const fitWayNames = ["stock", "early-release", "update-in-backward", "recompute", "offload"] as const;
export type FitWayName = (typeof fitWayNames)[number];

/** One way to train on one device: all that is chosen but the batch. */
export interface FitConfiguration {
  readonly device: string;
  /** Undefined where it is as recorded, or the model's own. */
  readonly optimizer?: string;
  readonly precision: FitPrecision;
  readonly way: FitWayName;
  /** Over how many devices the weights are sharded; 1: they are not. */
  readonly ranks: number;
  /** Which modules are gathered as one; undefined on one device. */
  readonly wrap?: readonly string[];
}

/**
 * A unit of work: for one configuration, which batch. Plain data, so that it goes to a thread, or to another machine; with the same model, or runs, the answer is the same
 * wherever it is computed.
 */
export interface FitUnit {
  readonly configuration: FitConfiguration;
  readonly spec: DeviceSpec;
  /** Where the device says nothing of its own, or somebody knows better. */
  readonly network?: DeviceNetwork;
  /** What a step may hold. */
  readonly memoryBytes: number;
  /** The batches that may be taken, the smallest first: of one rank, and of one pass. */
  readonly batches: readonly number[];
  /** Samples of a step over all ranks and micro-batches; undefined: as many as a pass of all ranks has. */
  readonly globalBatch?: number;
  /** Whether times that were measured as a run was recorded stay: those of one run, for one device. Neither several devices nor batches that were not recorded could be told apart by them; left out: no. */
  readonly keepsMeasured?: boolean;
  /** How much longer a step may take than without recomputation or transfers, as a fraction. */
  readonly maxOverhead: number;
  readonly objective: FitObjective;
  /** Changes that a search for a plan tries, and its seed: with both, a plan is the same every time. */
  readonly iterations: number;
  readonly seed: number;
  /** How many plans are looked for besides those that find the largest batch. */
  readonly morePlans: number;
  /** How many times as many changes, one after the other, searches try for batches beyond the largest with a plan. */
  readonly efforts: readonly number[];
}

/** What a step takes with some batch. */
export interface FitStep {
  /** Of one rank, and of one pass. */
  readonly batch: number;
  readonly peakBytes: number;
  /** What kernels hold beside tensors, at most: it is no part of the peak, and is kept for them. Left out: nothing. */
  readonly libraryBytes?: number;
  /** At the peak. */
  readonly bytesByCategory: Readonly<Partial<Record<CategoryName, number>>>;
  /** Undefined where ops have no times. */
  readonly stepMs: number | undefined;
  /** Over that of running every op once, as a fraction; 0 where nothing is recomputed or moved. */
  readonly overhead: number;
  /** Of a plan: how much cheaper it could be at most, as a fraction of the step. */
  readonly gap?: number;
  /** Of a plan: how many times the changes that a unit says were tried; left out: once. */
  readonly effort?: number;
  /** Of a rank: how the step is sharded. */
  readonly sharding?: ShardingPlan;
  /** Of PyTorch on one device: what is checkpointed. */
  readonly policy?: CheckpointPolicy;
}

/** A configuration with the batch that is best for it. */
export interface FitRow extends FitStep {
  readonly configuration: FitConfiguration;
  /** What tensors may hold: of the unit's what is not kept for kernels. */
  readonly memoryBytes: number;
  /** Passes of a step on each rank. */
  readonly microBatches: number;
  /** Over all ranks; undefined where ops have no times. */
  readonly samplesPerSecond: number | undefined;
  /** Whether this is the last of several batches that may be taken, so that nobody has looked at larger ones, which may fit; left out: it is not. */
  readonly endsRange?: true;
  /** The next larger batch that was tried, which does not fit; undefined where there is none to try. */
  readonly next: NotFitting | undefined;
}

/** A batch that does not fit, and why. */
export interface NotFitting {
  readonly batch: number;
  /** The least that was found. */
  readonly peakBytes: number;
  /** What kernels hold beside that, at most; left out: nothing. */
  readonly libraryBytes?: number;
  /** What takes most of it. */
  readonly binds: CategoryName | "time";
  readonly bindsBytes: number;
  /** Whether no step with this batch fits; else no plan was found for one. */
  readonly isProven: boolean;
  /** Larger than all that fit, and neither found to fit nor proven not to; left out: there are none. */
  readonly unproven?: BatchRange;
}

/** Batches of those that may be taken, both ends included. */
export interface BatchRange {
  readonly from: number;
  readonly to: number;
}

/** What became of a unit: a row, what does not fit of it, or why it cannot be. */
export type FitAnswer =
  | { readonly kind: "fits"; readonly row: FitRow }
  | { readonly kind: "not-fitting"; readonly configuration: FitConfiguration; readonly smallest: NotFitting }
  | { readonly kind: "refused"; readonly configuration: FitConfiguration; readonly reason: string };
