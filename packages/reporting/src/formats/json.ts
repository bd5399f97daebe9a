import { terminal, writeJson } from "@remat/trace/emit";
import type { OutputFormat } from "./output-format.js";

/** All of a document, for programs. */
export const jsonFormat: OutputFormat = {
  name: "json",
  title: "JSON",
  isForFiles: true,
  write: (document) => terminal.join([writeJson(document.value(), document.isLong === true ? 0 : 2), terminal`\n`]),
};
