import type { OutputFormat } from "./output-format.js";
import { plainMarkup, textFormat } from "./text-format.js";

/** Columns separated by tabs. */
export const plainFormat: OutputFormat = textFormat({
  name: "plain",
  title: "plain text",
  isForFiles: false,
  tables: "plain",
  isFitted: false,
  markup: plainMarkup,
});
