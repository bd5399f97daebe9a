export { type RecomputationBound, recomputationBound } from "./bound/recomputation-bound.js";
export { type WorkingSet, workingSet } from "./bound/working-set.js";
export type { BindingOp } from "./checkpointing/binding-op.js";
export { type CheckpointingGoal } from "./checkpointing/checkpointing-goal.js";
export {
  type CheckpointingAnswer,
  type CheckpointingOptions,
  type CheckpointingPoint,
  planCheckpointing,
} from "./checkpointing/plan-checkpointing.js";
export {
  type BudgetedSchedule,
  planSchedules,
  type ScheduleAnswer,
  type ScheduleOptions,
} from "./checkpointing/plan-schedules.js";
export { InfeasibleBudgetError, type NothingWithin, nothingWithin } from "./infeasible-budget-error.js";
export {
  type CheckpointedPolicy,
  type PlanOfCheckpointsOptions,
  planOfCheckpoints,
} from "./plan/plan-of-checkpoints.js";
export { planOfGraph } from "./plan/plan-of-graph.js";
export { planOfTrace } from "./plan/plan-of-trace.js";
export { policiesOfRules } from "./plan/policies-of-rules.js";
export {
  type Rematerialization,
  type RematerializeOptions,
  type RematerializeProgress,
  rematerialize,
} from "./rematerialize.js";
export { type SimulatedSchedule, simulateSchedule } from "./schedule/simulate-schedule.js";
