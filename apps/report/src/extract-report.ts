import { gunzipSync } from "node:zlib";
import { RematError } from "@remat/trace";
import { decodeReport, type ReportData } from "./data/report-file.js";

/** That of ten million ops; a small file can be made to hold more. */
const mostDataBytes = 2 ** 30;

/**
 * Reads what a report holds, from its HTML: the same that it was made of.
 *
 * @throws RematError `REPORT_DATA` where the text is no report, or its data is damaged
 * @example
 * const { meta, trace } = extractReport(await readFile("report.html", "utf8"));
 */
export function extractReport(text: string): ReportData {
  // Only base64 stands in the block, so that what names hold cannot be taken for it: everything else is escaped.
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
