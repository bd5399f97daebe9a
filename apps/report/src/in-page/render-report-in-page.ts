import { encodeReport, type ReportData } from "../data/report-file.js";
import { fillShell } from "../html/fill-shell.js";

/**
 * Renders a report as `renderReport` does, in a web page.
 *
 * @param shell the text of `@remat/report/shell.html`, from a bundler or a server
 * @example
 * const html = await renderReportInPage(await makeReport(trace, { title: "a step" }), await (await fetch(shellUrl)).text());
 */
export async function renderReportInPage(data: ReportData, shell: string): Promise<string> {
  const packed = new Blob([encodeReport(data) as Uint8Array<ArrayBuffer>])
    .stream()
    .pipeThrough(new CompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(packed as ReadableStream<Uint8Array>).arrayBuffer());
  let text = "";
  for (let from = 0; from < bytes.length; from += sliceBytes)
    text += String.fromCharCode(...bytes.subarray(from, from + sliceBytes));
  return fillShell(shell, data, btoa(text));
}

/** Number of arguments that a call accepts in every browser. */
const sliceBytes = 32_768;
