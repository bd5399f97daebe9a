export { declarePure } from "@remat/dispatch-hook/backends";
export type { BudgetExecution, BudgetedStep, ExceededBudget, PlanningOutcome } from "./budget/budget-execution.js";
export type { MemoryBudgetOptions } from "./budget/memory-budget-options.js";
export { type OpenBudget, openMemoryBudget, withMemoryBudget } from "./budget/with-memory-budget.js";
export { BudgetError } from "./budget-error.js";
export type { PassReport } from "./executor/executor.js";
export { verifyReplays } from "./executor/verify-replays.js";
export { type FasterGradientsOptions, fasterGradients } from "./faster-gradients.js";
export { checkpoint, endCheckpointing } from "./manual/checkpoint.js";
export { type CheckpointLayersOptions, checkpointLayers } from "./manual/checkpoint-layers.js";
export { formatSavedTensors, type PrintSavedTensorsOptions, printSavedTensors } from "./manual/print-saved-tensors.js";
export {
  type CheckpointedOp,
  named,
  type SavePolicy,
  saveMatmuls,
  saveNamed,
  saveNothing,
} from "./manual/save-policies.js";
export { type SavedTensor, type SavedTensorsOptions, savedTensors } from "./manual/saved-tensors.js";
export { MemoryMeter, measurePeakBytes } from "./memory-meter.js";
export { type ApplyPlanOptions, applyPlan, type PlanExecution, type StepReport, withPlan } from "./plan/apply-plan.js";
export { type ReleaseEarlyOptions, releaseEarly } from "./release-early.js";
export { stopOnContextLoss } from "./stop-on-context-loss.js";
