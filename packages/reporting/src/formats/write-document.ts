import { RematError } from "@remat/trace";
import type { TerminalText } from "@remat/trace/emit";
import type { OutputDocument } from "./output-document.js";
import type { OutputShape } from "./output-format.js";
import { outputFormats } from "./output-formats.js";

/**
 * Returns a document as text in the output format of that name.
 *
 * @throws RematError `FORMAT_UNKNOWN`
 * @example
 * process.stdout.write(writeDocument(sacDocument(summarizeSac(trace)), "md"));
 */
export function writeDocument(document: OutputDocument, format: string, shape: OutputShape = {}): TerminalText {
  const found = outputFormats.find(({ name }) => name === format);
  if (found === undefined)
    throw new RematError(
      "FORMAT_UNKNOWN",
      `unknown output format ${JSON.stringify(format)}. Choose one of ${outputFormats.map(({ name }) => name).join(", ")}.`,
    );
  return found.write(document, shape);
}
