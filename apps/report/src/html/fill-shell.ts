import { describeEstimate } from "@remat/reporting";
import { type Html, html } from "@remat/trace/emit";
import { formatNumber } from "@remat/trace/text";
import type { ReportData } from "../data/report-file.js";
import type { ReportMeta } from "../data/report-meta.js";
import { answersHtml } from "./answers-html.js";
import { environmentHtml } from "./environment-html.js";
import { summaryHtml } from "./summary-html.js";
import { timelinePicture } from "./timeline-picture.js";

/**
 * Fills the placeholders of the app's shell. `packed` is the report's compressed data in base64.
 *
 * @internal
 */
export function fillShell(shell: string, data: ReportData, packed: string): string {
  const filled = {
    title: html`${data.meta.title} – remat report`.html,
    body: bodyHtml(data).html,
    data: packed,
  };
  return shell.replace(
    /<!--remat:(title|body|data)-->/g,
    // A function, since names may contain replacement patterns of `replace`.
    (_slot, name: keyof typeof filled) => filled[name],
  );
}

function bodyHtml({ meta, trace }: ReportData): Html {
  return html`<header class="page-title"><h1>${meta.title}</h1><p>${describe(meta)}</p>${answersHtml(meta.answers)}</header>
<noscript><p class="notice">JavaScript is off. The summary and the environment still work; charts, the ops table and search need it.</p></noscript>
${timelinePicture(trace)}${summaryHtml(meta)}<div id="app"></div>
${environmentHtml(meta.environment)}`;
}

function describe({ summary, environment, from }: ReportMeta): string {
  const fact = (name: string): string | undefined =>
    environment.flatMap(({ facts }) => facts).find((each) => each.name === name)?.value;
  const backend = fact("Backend");
  const pricedFor = fact("Estimated for");
  return [
    { model: "One training step", trace: "A recorded run", plan: "A plan of one training step" }[from],
    fact("Framework"),
    `${fact("Mode")}${backend === undefined ? "" : ` ${backend} backend`}`,
    pricedFor && describeEstimate(pricedFor, fact("Calibrated")),
    `${formatNumber(summary.opCount)} ops`,
    `${formatNumber(summary.moduleCount)} modules`,
  ]
    .filter(Boolean)
    .join(" · ");
}
