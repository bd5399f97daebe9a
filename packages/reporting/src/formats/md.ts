import { markdown } from "@remat/trace/emit";
import type { OutputFormat } from "./output-format.js";
import { textFormat } from "./text-format.js";

/** GitHub-flavoured Markdown. */
export const mdFormat: OutputFormat = textFormat({
  name: "md",
  title: "Markdown",
  isForFiles: true,
  tables: "markdown",
  isFitted: false,
  markup: {
    heading: (title) => markdown.heading(2, title),
    line: markdown.line,
    command: markdown.code,
    listing: markdown.fence,
  },
});
