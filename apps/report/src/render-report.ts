import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { RematError } from "@remat/trace";
import { encodeReport, type ReportData } from "./data/report-file.js";
import type { ReportMeta } from "./data/report-meta.js";
import { answersHtml } from "./html/answers-html.js";
import { environmentHtml } from "./html/environment-html.js";
import { type Html, html } from "./html/html.js";
import { summaryHtml } from "./html/summary-html.js";
import { timelinePicture } from "./html/timeline-picture.js";

/** Places in the app's shell that each report fills. */
const slots = { title: "<!--remat:title-->", body: "<!--remat:body-->", data: "<!--remat:data-->" } as const;

/**
 * Renders a report as one HTML document that needs nothing else: the app, the summary as plain HTML, and the data, compressed.
 *
 * @throws RematError `REPORT_SHELL` where the app has not been built
 * @example
 * await writeFile("report.html", renderReport(await makeReport(trace, { title: "resnet50" })));
 */
export function renderReport(data: ReportData): string {
  const packed = gzipSync(encodeReport(data), { level: 7 }).toString("base64");
  const filled = {
    title: html`${data.meta.title} – remat report`.html,
    body: bodyHtml(data).html,
    data: packed,
  };
  return readShell().replace(
    /<!--remat:(title|body|data)-->/g,
    // A function, since names may hold what `replace` reads as a pattern.
    (_slot, name: keyof typeof slots) => filled[name],
  );
}

function bodyHtml({ meta, trace }: ReportData): Html {
  return html`<header class="page-title"><h1>${meta.title}</h1><p>${describe(meta)}</p>${answersHtml(meta.answers)}</header>
<noscript><p class="notice">JavaScript is off: the summary and the environment can be read; charts, the ops table and search need it.</p></noscript>
${timelinePicture(trace)}${summaryHtml(meta)}<div id="app"></div>
${environmentHtml(meta.environment)}`;
}

function describe({ summary, environment, from }: ReportMeta): string {
  const fact = (name: string): string | undefined =>
    environment.flatMap(({ facts }) => facts).find((each) => each.name === name)?.value;
  const backend = fact("Backend");
  const pricedFor = fact("Priced for");
  return [
    { model: "One training step", trace: "A recorded run", plan: "A plan of one training step" }[from],
    fact("Framework"),
    `${fact("Mode")}${backend === undefined ? "" : ` ${backend} backend`}`,
    pricedFor && `priced for ${pricedFor}`,
    `${summary.opCount.toLocaleString("en")} ops`,
    `${summary.moduleCount.toLocaleString("en")} modules`,
  ]
    .filter(Boolean)
    .join(" · ");
}

function readShell(): string {
  try {
    // The same place seen from `src` and from `dist`.
    return readFileSync(new URL("../dist/shell.html", import.meta.url), "utf8");
  } catch (cause) {
    throw new RematError(
      "REPORT_SHELL",
      "the report's app has not been built: expected dist/shell.html in @remat/report. Run its build, or install the package again.",
      { cause },
    );
  }
}
