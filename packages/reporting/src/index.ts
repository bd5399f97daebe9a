export { type CsvCell as Cell, writeCsv } from "@remat/trace/emit";
export { formatBytes } from "@remat/trace/text";
export { AlignedOps, alignHighest, type HeldByOp, matchOps } from "./align-runs.js";
export { type Answer, type AnswerFirstOptions, answerFirst } from "./answers/answer-first.js";
export {
  answerFollowing,
  answerOutcome,
  answerPlan,
  leadWith,
  type PlanCommand,
  type PlanOutcome,
  type StepOutcome,
} from "./answers/answer-outcome.js";
export {
  type ChangedPart,
  type CheckedStep,
  checkMemory,
  type MemoryCheck,
  type PeakLimit,
} from "./baseline/check-memory.js";
export {
  type BaselineStep,
  baselineStep,
  type MemoryBaseline,
  readMemoryBaseline,
  writeMemoryBaseline,
} from "./baseline/memory-baseline.js";
export { type Colour, categoryColours, categoryStack, labelCategory, seriesColours } from "./category-colours.js";
export {
  chooseWithin,
  type DescribePlanWithinOptions,
  describeCheckpointed,
  describePlanWithin,
  type PlanChoice,
  type PlanWithin,
  planFrontier,
} from "./choose-within.js";
export {
  type ComparedModule,
  type ComparedQuantity,
  type ComparedRun,
  type ComparedValue,
  type CompareView,
  compareTable,
  compareView,
} from "./compare-view.js";
export { describeProof } from "./describe-proof.js";
export { type AllocatorSummary, allocatorDocument, allocatorFacts } from "./documents/allocator-document.js";
export { checkDocument } from "./documents/check-document.js";
export {
  type CheckpointsPoint,
  type CheckpointsSummary,
  type CheckpointsUnit,
  checkpointsDocument,
} from "./documents/checkpoints-document.js";
export {
  activationBudgetLine,
  type CompiledPlanPoint,
  type CompiledPlanSummary,
  compiledPlanDocument,
} from "./documents/compiled-plan-document.js";
export { extrapolationDocument } from "./documents/extrapolation-document.js";
export {
  type GraphPlanDocumentOptions,
  type GraphPlanSummary,
  graphPlanDocument,
} from "./documents/graph-plan-document.js";
export { graphsDocument } from "./documents/graphs-document.js";
export { type InfeasibleBudget, infeasibleDocument } from "./documents/infeasible-document.js";
export { largestTable } from "./documents/largest-table.js";
export {
  isGrowing,
  type LeaksRow,
  type LeaksSummary,
  leaksDocument,
  leaksFacts,
  leaksRows,
  leaksTable,
  summarizeLeaks,
} from "./documents/leaks-document.js";
export { type MemoryDocumentOptions, memoryDocument, memorySummaryJson } from "./documents/memory-document.js";
export {
  type PlanDocumentOptions,
  type PlanSection,
  planDocument,
  planSummaryJson,
} from "./documents/plan-document.js";
export type { FrontPoint, PlanFront } from "./documents/plan-front.js";
export {
  type PredictionDocumentOptions,
  type PredictionSummary,
  predictionDocument,
} from "./documents/prediction-document.js";
export { regionsDocument } from "./documents/regions-document.js";
export { type SacDocumentOptions, sacDocument } from "./documents/sac-document.js";
export { sacSummaryJson } from "./documents/sac-summary-json.js";
export {
  formatChange,
  formatChosenPercent,
  formatMs,
  formatOverhead,
  formatPercent,
  formatTypedPercent,
  formatWholePercent,
} from "./format-quantity.js";
export type {
  DocumentPart,
  DocumentRecords,
  FactsPart,
  ListingPart,
  OutputDocument,
  TablePart,
  TextPart,
} from "./formats/output-document.js";
export type { OutputFormat, OutputShape } from "./formats/output-format.js";
export { outputFormats } from "./formats/output-formats.js";
export { writeDocument } from "./formats/write-document.js";
export { type HeldGroup, type HeldLevel, type HeldTree, heldTree } from "./held-tree/held-tree.js";
export {
  describeLife,
  type HeldRow,
  type HeldRows,
  heldRow,
  heldTreeRows,
  heldTreeTable,
  openAll,
  openLargest,
} from "./held-tree/held-tree-rows.js";
export {
  categoryBands,
  type MemoryBand,
  type MemoryBands,
  type ModuleBandsOptions,
  moduleBands,
} from "./memory-bands.js";
export {
  expandedToDepth,
  type ModuleNode,
  type ModuleTreeColumn,
  type ModuleTreeRowsOptions,
  type ModuleTreeView,
  moduleTreeRows,
  moduleTreeTable,
  moduleTreeView,
} from "./module-tree-view.js";
export {
  allOpsView,
  moduleOf,
  OpMark,
  type OpTableColumn,
  type OpTableOptions,
  type OpTableRowsOptions,
  type OpTableView,
  opMarkNames,
  opTable,
  opTableRows,
  opTableView,
} from "./op-table-view.js";
export { checkpointFates, type PlanFateName, planFateLabels, planFateNames, planFates } from "./plan-fates.js";
export { opStartMs, type SampledBands, type SampleOptions, sampleBands } from "./sample-bands.js";
export { type SizeFormat, type SizeUnit, sizeFormat, sizeUnits } from "./size-unit.js";
export { type CategoryRow, type LargestRow, type StepView, viewStep } from "./step-view.js";
export { describeStorageLife, type StorageLife, type StorageLivesOptions, storageLives } from "./storage-lives.js";
export {
  type ExtrapolationSummary,
  type SizeOutcome,
  type SummarizeExtrapolationOptions,
  summarizeExtrapolation,
} from "./summarize-extrapolation.js";
export { type CompiledGraphs, type GraphSummary, type GraphsSummary, summarizeGraphs } from "./summarize-graphs.js";
export {
  type MeasuredMemory,
  type MemorySummary,
  type SummarizeMemoryOptions,
  summarizeMemory,
} from "./summarize-memory.js";
export {
  type FreedStorage,
  type PlanPoint,
  type PlanSummary,
  type Recomputed,
  type SummarizePlanOptions,
  summarizePlan,
} from "./summarize-plan.js";
export { type RegionCause, type RegionExcess, type RegionsSummary, summarizeRegions } from "./summarize-regions.js";
export { type ModuleSacSummary, type SacSummary, type SummarizeSacOptions, summarizeSac } from "./summarize-sac.js";
export { describeCategories } from "./verdict/describe-verdict.js";
export { type DeviceToFit, deviceToFit, whereRecorded } from "./verdict/device-to-fit.js";
export { type Facts, factLines } from "./verdict/fact-lines.js";
export { type FailureVerdictOptions } from "./verdict/judge-failure.js";
export { type GraphMemory, judgeGraph } from "./verdict/judge-graph.js";
export { judgeMemory, judgeStep, type NextStep, type StepMemory, type VerdictOptions } from "./verdict/judge-memory.js";
export type { FittingBatch, GivenStep, LeastHeld, Outcome, Verdict } from "./verdict/verdict.js";
export { type WayToFit } from "./verdict/way-to-fit.js";
export { factsOf, withFacts, withVerdict } from "./verdict/with-verdict.js";
export {
  type EnvironmentFact,
  type EnvironmentGroup,
  type EnvironmentOptions,
  viewEnvironment,
} from "./view-environment.js";
export { type RecommendedPlan, type RecomputeCandidate, type ReportSummary, viewSummary } from "./view-summary.js";
export { exportFormats, type ViewTable, writeViewTable } from "./view-table.js";
export {
  greedyPolicy,
  OpFate,
  type OpFateName,
  opFateNames,
  type PolicyView,
  policyOf,
  type TradeOffPiece,
  type TradeOffPoint,
  type TradeOffView,
  viewTradeOff,
} from "./view-trade-off.js";
export {
  answeredWhatIf,
  presentQuestion,
  refusedWhatIf,
  type WhatIfRow,
  type WhatIfStep,
  whatIfTable,
} from "./what-if-view.js";
