import type { OutputFormat } from "./output-format.js";
import { plainMarkup, textFormat } from "./text-format.js";

/** Grid tables of reStructuredText, as PyTorch's estimators print them. */
export const tableFormat: OutputFormat = textFormat({
  name: "table",
  title: "tables",
  isForFiles: false,
  tables: "rst",
  isFitted: true,
  markup: plainMarkup,
});
