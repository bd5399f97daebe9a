import type { OutputFormat } from "./output-format.js";

/** All of a document, for programs. */
export const jsonFormat: OutputFormat = {
  name: "json",
  title: "JSON",
  isForFiles: true,
  write: (document) => `${JSON.stringify(document.value(), undefined, document.isLong === true ? 0 : 2)}\n`,
};
