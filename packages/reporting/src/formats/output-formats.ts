import { csvFormat } from "./csv.js";
import { jsonFormat } from "./json.js";
import { mdFormat } from "./md.js";
import type { OutputFormat } from "./output-format.js";
import { plainFormat } from "./plain.js";
import { tableFormat } from "./table.js";

/** All output formats, in the order in which help lists them. To add one, add its file and a line here. */
export const outputFormats: readonly OutputFormat[] = [tableFormat, plainFormat, jsonFormat, csvFormat, mdFormat];
