export { formatBytes, formatMs, formatPercent } from "./format-quantity.js";
export {
  describeRun,
  type OutputFormat,
  outputFormats,
  type RenderSacOptions,
  renderSacSummary,
  sacSummaryJson,
} from "./render-sac.js";
export {
  discardShares,
  type ModuleSacSummary,
  type SacSummary,
  type SummarizeSacOptions,
  summarizeSac,
} from "./summarize-sac.js";
export { type Cell, writeCsv } from "./write-csv.js";
