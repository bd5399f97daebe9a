export { type CsvCell as Cell, writeCsv } from "@remat/trace/emit";
export { formatBytes } from "@remat/trace/text";
export { AlignedOps, alignHighest, type HeldByOp, matchOps } from "./align-runs.js";
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
export { formatCount } from "./describe-costs.js";
export { describeProof } from "./describe-proof.js";
export {
  estimatedDigits,
  formatChange,
  formatChosenPercent,
  formatEstimatedMs,
  formatMs,
  formatOverhead,
  formatPercent,
  formatTypedPercent,
  formatWholePercent,
} from "./format-quantity.js";
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
export { describeEstimate, formatError, isEstimated, type TimeFormat, timeFormat } from "./time-quality.js";
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
