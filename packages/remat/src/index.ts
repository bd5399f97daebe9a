export {
  BudgetError,
  type BudgetExecution,
  type MemoryBudgetOptions,
  releaseEarly,
  withMemoryBudget,
} from "@remat/checkpoint";
export type { HeldStorage, MemoryBudget, StorageMaker } from "@remat/memory";
export { InfeasibleBudgetError } from "@remat/planner";
export {
  type CategoryName,
  type Plan,
  RematError,
  readPlan,
  readTrace,
  type Trace,
  writePlan,
  writeTrace,
} from "@remat/trace";
export type { ModelDefinition } from "@remat/tracer";
export { type MemoryOfOptions, memoryOf, type StepMemory } from "./memory-of.js";
export { type PlanOptions, plan } from "./plan.js";
export { type RecordOptions, record } from "./record.js";
export type { StepOptions, Trainable } from "./trace-of.js";
