import type { OutputFormat } from "./output-format.js";
import { textFormat } from "./text-format.js";

/** GitHub's Markdown. */
export const mdFormat: OutputFormat = textFormat({
  name: "md",
  title: "Markdown",
  isForFiles: true,
  tables: "markdown",
  isFitted: false,
  heading: (title) => `## ${title}`,
  listing: (text) => `\`\`\`\n${text.trimEnd()}\n\`\`\``,
});
