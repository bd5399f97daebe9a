import { json, terminal } from "@remat/trace/emit";
import type { OutputFormat } from "./output-format.js";

/** Writes the complete document for programs, as JSON. */
export const jsonFormat: OutputFormat = {
  name: "json",
  title: "JSON",
  isForFiles: true,
  write: (document) => terminal.join([json.value(document.value(), document.isLong === true ? 0 : 2), terminal`\n`]),
};
