export { formatBytes, formatMs, formatPercent } from "./format-quantity.js";
export { memorySummaryJson, type RenderMemoryOptions, renderMemorySummary } from "./render-memory.js";
export {
  describeRun,
  type OutputFormat,
  outputFormats,
  type RenderSacOptions,
  renderSacSummary,
  sacSummaryJson,
} from "./render-sac.js";
export { type MemorySummary, type SummarizeMemoryOptions, summarizeMemory } from "./summarize-memory.js";
export {
  discardShares,
  type ModuleSacSummary,
  type SacSummary,
  type SummarizeSacOptions,
  summarizeSac,
} from "./summarize-sac.js";
export { type Cell, writeCsv } from "./write-csv.js";
