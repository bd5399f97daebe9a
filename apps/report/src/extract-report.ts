import { gunzipSync } from "node:zlib";
import { RematError } from "@remat/trace";
import { decodeReport, type ReportData } from "./data/report-file.js";

/** Size of the data for ten million ops. A small file could be crafted to expand to more. */
const mostDataBytes = 2 ** 30;

/**
 * Reads the data of a report from its HTML.
 *
 * @throws RematError `REPORT_DATA` if the text is not a report, or its data is damaged
 * @example
 * const { meta, trace } = extractReport(await readFile("report.html", "utf8"));
 */
export function extractReport(text: string): ReportData {
  // The block contains only base64. Names elsewhere are escaped, so that they cannot be mistaken for it.
  const match = /<script id="remat-data" type="[^"]*">([A-Za-z0-9+/=\s]*)<\/script>/.exec(text);
  if (match === null)
    throw new RematError("REPORT_DATA", "not a remat report. Name an HTML file written by `remat report`.");
  let bytes: Uint8Array;
  try {
    bytes = gunzipSync(Buffer.from(match[1], "base64"), { maxOutputLength: mostDataBytes });
  } catch (cause) {
    throw new RematError(
      "REPORT_DATA",
      `the report's data is damaged (${(cause as Error).message}). Create the report again.`,
      {
        cause,
      },
    );
  }
  return decodeReport(bytes);
}
