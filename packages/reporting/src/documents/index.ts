export { allocatorDocument } from "./allocator-document.js";
export { type AllocatorReport, type AllocatorSummary, allocatorFacts } from "./allocator-facts.js";
export { checkDocument } from "./check-document.js";
export {
  type CheckpointsPoint,
  type CheckpointsSummary,
  type CheckpointsUnit,
  checkpointsDocument,
} from "./checkpoints-document.js";
export {
  activationBudgetLine,
  type CompiledPlanPoint,
  type CompiledPlanSummary,
  compiledPlanDocument,
} from "./compiled-plan-document.js";
export { extrapolationDocument } from "./extrapolation-document.js";
export {
  type GraphPlanDocumentOptions,
  type GraphPlanSummary,
  graphPlanDocument,
} from "./graph-plan-document.js";
export { graphsDocument } from "./graphs-document.js";
export { type InfeasibleBudget, infeasibleDocument } from "./infeasible-document.js";
export { largestTable } from "./largest-table.js";
export {
  isGrowing,
  type LeaksRow,
  type LeaksSummary,
  leaksDocument,
  leaksFacts,
  leaksRows,
  leaksTable,
  summarizeLeaks,
} from "./leaks-document.js";
export { type MemoryDocumentOptions, memoryDocument, memorySummaryJson } from "./memory-document.js";
export {
  type PlanDocumentOptions,
  type PlanSection,
  planDocument,
  planSummaryJson,
} from "./plan-document.js";
export type { FrontPoint, PlanFront } from "./plan-front.js";
export {
  type PredictionDocumentOptions,
  type PredictionSummary,
  predictionDocument,
} from "./prediction-document.js";
export { regionsDocument } from "./regions-document.js";
export { type SacDocumentOptions, sacDocument } from "./sac-document.js";
export { sacSummaryJson } from "./sac-summary-json.js";
