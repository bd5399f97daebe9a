export { displaySafe, writeOut } from "../emit/index.js";
export type { Cell } from "./column-type.js";
export { type FittableColumn, fitColumns } from "./fit-columns.js";
export { type FitTableOptions, type FittedTable, fitTable } from "./fit-table.js";
export {
  formatBudget,
  formatBytes,
  formatExactBytes,
  formatInUnit,
  formatTypedBytes,
  type MemoryUnit,
  memoryUnits,
  roundToUnit,
} from "./format-bytes.js";
export { formatDuration } from "./format-duration.js";
export { formatNumber } from "./format-number.js";
export {
  formatChange,
  formatChosenPercent,
  formatOverhead,
  formatPercent,
  formatTypedPercent,
  formatWholePercent,
} from "./format-percent.js";
export { formatTable, type TableFormat, type TableOptions } from "./format-table.js";
export { pythonFixed, pythonFloat, pythonScientific } from "./python-number.js";
export { wrapText } from "./wrap-text.js";
