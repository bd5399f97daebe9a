import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { RematError } from "@remat/trace";
import { encodeReport, type ReportData } from "./data/report-file.js";
import { fillShell } from "./html/fill-shell.js";

/**
 * Renders a report as one self-contained HTML document: the app, the summary as plain HTML, and the compressed data.
 *
 * @throws RematError `REPORT_SHELL` if the app has not been built
 * @example
 * await writeFile("report.html", renderReport(await makeReport(trace, { title: "resnet50" })));
 */
export function renderReport(data: ReportData): string {
  const packed = gzipSync(encodeReport(data), { level: 7 }).toString("base64");
  return fillShell(readShell(), data, packed);
}

function readShell(): string {
  try {
    // The path is the same from `src` and from `dist`.
    return readFileSync(new URL("../dist/shell.html", import.meta.url), "utf8");
  } catch (cause) {
    throw new RematError(
      "REPORT_SHELL",
      "the report's app is missing: @remat/report has no dist/shell.html. Install the package again, or build it.",
      { cause },
    );
  }
}
