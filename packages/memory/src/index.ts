export { allocatedSizes, deviceKind, roundUpBytes } from "./allocators/device-units.js";
export { type Budget, bytesOfBudget, type MemoryBudget, parseBudget } from "./budget/parse-budget.js";
export { budgetNotFound, type UnmetBudget } from "./budget/unmet-budget.js";
export {
  type CheckedRun,
  type Extrapolation,
  extrapolateRuns,
  type VaryingSize,
} from "./extrapolation/extrapolate-runs.js";
export { heldByGrowth } from "./extrapolation/held-by-growth.js";
export { type FittingSize, largestSize } from "./extrapolation/largest-size.js";
export type { SizedRun } from "./extrapolation/match-runs.js";
export { DeviceRows } from "./held/device-rows.js";
export { heldByModule } from "./held/held-by-module.js";
export { HeldMemory, type HeldMemoryListener, type HeldPeak, heldElsewhere, heldPeak } from "./held/held-memory.js";
export { type HeldStorages, type HeldStoragesOptions, storagesAfterOp, storagesAtPeak } from "./held/held-storages.js";
export { type IdleMemory, idleAtPeak } from "./held/idle-at-peak.js";
export { countLifetimes, type MemoryEventReader, readMemoryEvents, tellsLifetimes } from "./held/memory-events.js";
export {
  type HeldStorage,
  type MemoryMoment,
  type MomentOptions,
  type MomentPlace,
  momentAt,
  momentOfPeak,
  peakMoment,
  type StorageMaker,
} from "./held/memory-moment.js";
export { type MemoryTimeline, memoryTimeline, peakOp, type TimelineOptions } from "./held/memory-timeline.js";
export { type ModuleBytes, moduleBytes, storageModules } from "./held/module-bytes.js";
export { restingBytes } from "./held/resting-bytes.js";
export { type StorageUses, storageUses } from "./held/storage-uses.js";
export {
  type CheckpointedRegion,
  checkpointedRegions,
  type KeptByRegion,
  type KeptCause,
  type RegionFlaw,
  type RegionForm,
} from "./regions/checkpointed-regions.js";
export type { Saver } from "./regions/savers.js";
export { accountSequence, type SequenceAccount } from "./sequence/account-sequence.js";
export { holdPlan, type PlanMemory, type RecomputedStorage } from "./sequence/hold-plan.js";
export {
  holdSequence,
  nodeAt,
  type SequenceMemory,
  valuesFreedAfter,
  valuesOffloadedAfter,
} from "./sequence/hold-sequence.js";
export { hostPeakBytes, movedBytes, type OffloadedStorage } from "./sequence/offloaded-storages.js";
export { type PlanValues, planValues } from "./sequence/plan-values.js";
export type { SequenceGraph } from "./sequence/sequence-graph.js";
export {
  type SequenceGraphOptions,
  sequenceGraphOfTrace,
  type TraceSequenceGraph,
} from "./sequence/sequence-graph-of-trace.js";
export { type PlanSequence, sequenceOfPlan } from "./sequence/sequence-of-plan.js";
export { unrecomputedPeakBytes } from "./sequence/unrecomputed-peak.js";
