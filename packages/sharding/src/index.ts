export { accumulatedRun } from "./accumulated-run.js";
export { CheckpointedRun } from "./checkpointed-run.js";
export { checkpointedUnits, type RunningModules } from "./checkpointed-units.js";
export { FSDPMemTracker, hasFsdpHooks } from "./fsdp-mem-tracker.js";
export type { Communication } from "./fsdp-rank.js";
export { fullyShardCode, requireFullyShardable } from "./fully-shard-code.js";
export { parseNetwork } from "./network.js";
export type { OwnCast } from "./own-casts.js";
export type { GroupParameter, ParameterGroup } from "./parameter-groups.js";
export { type ParseShardingPlanOptions, parseCheckpoint, parseShardingPlan } from "./parse-sharding-plan.js";
export { readCheckpoint, readShardingPlan, writeShardingPlan } from "./read-sharding-plan.js";
export {
  type GroupCommunication,
  type StreamLane,
  type StreamSchedule,
  type StreamSpan,
  type StreamSpeeds,
  scheduleStreams,
} from "./schedule-streams.js";
export { type ShardSize } from "./shard-size.js";
export { shardStates } from "./shard-states.js";
export {
  type CheckpointedModules,
  type GroupPolicy,
  type MixedPrecision,
  type Prefetch,
  type RematScope,
  type ShardingGroup,
  type ShardingPlan,
  shardRanks,
} from "./sharding-plan.js";
export { type FsdpSimulation, simulateFsdp } from "./simulate-fsdp.js";
export type { FsdpModuleState } from "./state-labels.js";
export type { StreamWork } from "./stream-work.js";
export { usualWrap } from "./usual-wrap.js";
export { refusesRecordedOptimizer, torchOptimizerCode, torchOptimizerNames, withOptimizer } from "./with-optimizer.js";
