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
export {
  executorOf,
  type PlanExecutor,
  planExecutors,
  tfjsExecutor,
  torchCheckpointExecutor,
  torchCompileExecutor,
} from "./executors/executors.js";
export {
  type CheckpointUnits,
  type NamedCheckpoints,
  planTorchCheckpoints,
  type TorchCheckpoints,
  type TorchCheckpointsAnswer,
  type TorchCheckpointsOptions,
} from "./executors/torch-checkpoint/plan-torch-checkpoints.js";
export { type TorchFrontOptions, type TorchFrontPoint, torchFront } from "./executors/torch-checkpoint/torch-front.js";
export type { CompiledNode } from "./executors/torch-compile/fused-kernels.js";
export {
  type CompiledBudget,
  type CompiledModel,
  type CompiledPartition,
  planTorchCompile,
  type TorchCompileAnswer,
  type TorchCompileOptions,
} from "./executors/torch-compile/plan-torch-compile.js";
export {
  type PlanningGraph,
  type PlanningNode,
  planningGraph,
  type TransferCosts,
  withLink,
} from "./graph/planning-graph.js";
export {
  type PlanningGraphOfTraceOptions,
  planningGraphOfTrace,
  type TracePlanningGraph,
} from "./graph/planning-graph-of-trace.js";
export { readGraphFile } from "./graph/read-graph-file.js";
export { InfeasibleBudgetError, type NothingWithin, nothingWithin } from "./infeasible-budget-error.js";
export type { Knapsack, KnapsackMethod, KnapsackSolution } from "./knapsack/knapsack.js";
export { solveKnapsack } from "./knapsack/solve-knapsack.js";
export { type ModuleStatistics, moduleStatistics } from "./methods/module-statistics.js";
export type {
  MethodAnswer,
  MethodOption,
  MethodPlan,
  MethodQuantity,
  MethodRequest,
  MethodTable,
  PlanMethod,
} from "./methods/plan-method.js";
export { planMethods } from "./methods/plan-methods.js";
export { type ModulePolicy, type ModulePolicyOptions, planModule } from "./module-policy/plan-module.js";
export type { ModuleBudget, ModulePolicyMethod } from "./module-policy/policy-input.js";
export { aggregateModuleStats, type ModuleStats, type TrackedModule } from "./module-tree/module-stats.js";
export { type CheckpointedModule, type ModuleTreePlan, planModules } from "./module-tree/plan-modules.js";
export type { ModuleTreeOptions } from "./module-tree/tree-options.js";
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
