import type { HeldStorage } from "@remat/memory";
import {
  categoryLabels,
  describeMaker,
  describeShape,
  formatBytes,
  formatChosenPercent,
  formatMs,
  formatPercent,
  type RecommendedPlan,
} from "@remat/reporting";
import type { ReportMeta } from "../data/report-meta.js";
import { amount } from "./amount.js";
import { comparisonHtml } from "./comparison-html.js";
import { type Html, html } from "./html.js";
import { leaksHtml } from "./leaks-html.js";
import { moduleLink, opLink } from "./links.js";
import { signed } from "./signed.js";

/** Shows the summary as HTML: all of it is readable without JavaScript, and links become live with it. */
export function summaryHtml(meta: ReportMeta): Html {
  return html`<section id="summary" aria-labelledby="summary-title">
<h2 id="summary-title">Summary</h2>
${figures(meta)}
<div class="columns">${atThePeak(meta)}${plansTable(meta)}</div>
<div class="columns">${largest(meta)}${candidates(meta)}</div>
${meta.leaks && leaksHtml(meta.leaks)}
${meta.comparison && comparisonHtml(meta.comparison)}
</section>
`;
}

function figures({ summary, plans, fsdp, comparison, from }: ReportMeta): Html {
  const { peak, steps, stepMs, phases } = summary;
  const list: (readonly [string, string, string])[] = [];
  if (peak !== undefined)
    list.push([
      "Peak memory",
      formatBytes(peak.totalBytes),
      peak.at === undefined ? "" : `in op ${peak.at.op} ${peak.at.opName}, ${peak.at.phase}`,
    ]);
  if (stepMs > 0)
    list.push([
      steps > 1 ? `Time of ${steps} steps` : from === "model" ? "Step time" : "Time",
      formatMs(stepMs),
      [
        ...(steps > 1 ? [`${formatMs(stepMs / steps)} each`] : []),
        ...phases.filter(({ ms }) => ms > 0).map(({ phase, ms }) => `${phase} ${formatMs(ms)}`),
      ].join(", "),
    ]);
  for (const plan of plans?.recommended ?? [])
    list.push([
      planName(plan),
      formatBytes(plan.peakBytes),
      `${saved(plan, plans!.recordedPeakBytes)} · ${extraTime(plan)}`,
    ]);
  if (fsdp !== undefined)
    list.push([`A rank of ${fsdp.worldSize}`, formatBytes(fsdp.peakBytes), "peak under FSDP, simulated"]);
  const measured = comparison?.view.totals.find(({ name }) => name === "peak memory")?.value;
  if (comparison !== undefined && measured?.after !== undefined)
    list.push([
      comparison.isMeasured ? "Measured peak" : `Peak of ${comparison.name}`,
      formatBytes(measured.after),
      measured.ratio === undefined
        ? ""
        : `${signed(measured.ratio)} against ${comparison.isMeasured ? "predicted" : "this run"}`,
    ]);
  return html`<dl class="figures">${list.map(
    ([name, value, note]) => html`<div><dt>${name}</dt><dd><strong>${value}</strong><span>${note}</span></dd></div>`,
  )}</dl>
`;
}

function planName({ allowedOverhead }: RecommendedPlan): string {
  return allowedOverhead === 0 ? "Planned, at no cost" : `Planned, ≤ ${formatChosenPercent(allowedOverhead)} time`;
}

const saved = ({ peakBytes }: RecommendedPlan, recorded: number): string =>
  recorded > 0 ? `${signed(peakBytes / recorded - 1)} memory` : "";
const extraTime = ({ overhead }: RecommendedPlan): string =>
  overhead > 0 ? `${signed(overhead)} time` : "no more time";

function atThePeak({ summary: { peak, categories } }: ReportMeta): Html {
  if (peak === undefined)
    return html`<div><h3>Peak by category</h3><p>The run says nothing about when storages are freed, so that memory over time cannot be told.</p></div>`;
  let x = 0;
  const bars = categories.map(({ category, share }) => {
    const bar = html`<rect class="category-${category}" x="${(x * 100).toFixed(3)}" y="0" width="${(share * 100).toFixed(3)}" height="8"><title>${categoryLabels[category]} ${formatPercent(share)}</title></rect>`;
    x += share;
    return bar;
  });
  return html`<div><h3>Peak by category</h3>
<svg class="share-bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="Shares of the peak by category; the table has the figures">${bars}</svg>
<table><thead><tr><th scope="col">Category</th><th scope="col" class="number">Size</th><th scope="col" class="number">Share</th></tr></thead><tbody>${[
    ...categories,
  ]
    .sort((a, b) => b.bytes - a.bytes)
    .map(
      ({ category, bytes, share }) =>
        html`<tr><th scope="row"><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class="category-${category}" width="10" height="10"/></svg>${categoryLabels[category]}</th>${amount(bytes, formatBytes)}${amount(share, formatPercent)}</tr>`,
    )}</tbody></table></div>
`;
}

function plansTable({ plans, noPlans }: ReportMeta): Html {
  if (plans === undefined)
    return html`<div><h3>Recommended plans</h3><p>None: ${noPlans ?? "no plan was found"}.</p></div>`;
  const row = (name: string, peakBytes: number, stepMs: number | undefined, overhead: number | undefined) =>
    html`<tr><th scope="row">${name}</th>${amount(peakBytes, formatBytes)}${amount(plans.recordedPeakBytes > 0 && peakBytes !== plans.recordedPeakBytes ? peakBytes / plans.recordedPeakBytes - 1 : undefined, signed)}${amount(stepMs, formatMs)}${amount(overhead, (share) => (share > 0 ? signed(share) : "none"))}</tr>`;
  return html`<div><h3>Recommended plans</h3>
<table><thead><tr><th scope="col">Plan</th><th scope="col" class="number">Peak</th><th scope="col" class="number">Change</th><th scope="col" class="number">Step</th><th scope="col" class="number">Extra time</th></tr></thead><tbody>${row("As recorded", plans.recordedPeakBytes, undefined, undefined)}${plans.recommended.map(
    (plan) =>
      row(
        plan.allowedOverhead === 0 ? "No cost" : `At most ${formatChosenPercent(plan.allowedOverhead)} time`,
        plan.peakBytes,
        plan.stepMs,
        plan.overhead,
      ),
  )}</tbody></table>
<p class="note">Predicted. A plan frees everything after its last use, and recomputes forward ops where that is needed; <code>remat plan</code> writes one to a file.</p></div>
`;
}

function largest({ summary: { peak } }: ReportMeta): Html {
  if (peak === undefined || peak.largest.length === 0) return html``;
  return html`<div><h3>Largest at the peak</h3>
<table><thead><tr><th scope="col" class="number">Size</th><th scope="col">Category</th><th scope="col">Made by</th><th scope="col">In module</th></tr></thead><tbody>${peak.largest
    .slice(0, 6)
    .map(
      (held) =>
        html`<tr>${amount(held.bytes, formatBytes)}<td>${categoryLabels[held.category]}</td><td>${madeBy(held)}</td><td>${moduleLink(held.owner ?? held.maker?.module)}</td></tr>`,
    )}</tbody></table><p class="note">Of ${peak.storageCount} storages alive then.</p></div>
`;
}

function madeBy(held: HeldStorage): Html {
  const { maker, owner } = held;
  const shape = describeShape(held);
  const who = owner === undefined ? "not by an op" : "a weight";
  return html`${maker === undefined ? who : opLink(maker.op, describeMaker(held)!)}${shape !== "" && html`<small>${shape}</small>`}`;
}

function candidates({ summary: { recomputeFirst } }: ReportMeta): Html {
  if (recomputeFirst.length === 0) return html``;
  return html`<div><h3>What to recompute first</h3>
<table><thead><tr><th scope="col">Ops</th><th scope="col">In module</th><th scope="col" class="number">Frees</th><th scope="col" class="number">Costs</th></tr></thead><tbody>${recomputeFirst
    .slice(0, 6)
    .map(
      ({ opName, module, ops, bytes, recomputationMs }) =>
        html`<tr><th scope="row" class="whole">${ops} × ${opName}</th><td>${module.includes("*") ? module : moduleLink(module)}</td>${amount(bytes, formatBytes)}${amount(recomputationMs, formatMs)}</tr>`,
    )}</tbody></table><p class="note">The largest groups in the better half of the greedy order: memory freed per time to recompute it.</p></div>
`;
}
