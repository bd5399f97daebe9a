import { formatBytes, formatChosenPercent } from "@remat/reporting";
import { type Html, html } from "@remat/trace/emit";
import type { ReportMeta } from "../data/report-meta.js";
import { timeFormatOf } from "../data/time-format-of.js";
import { amount } from "./amount.js";
import { breakable } from "./breakable.js";
import { comparisonHtml } from "./comparison-html.js";
import { heldHtml } from "./held-html.js";
import { leaksHtml } from "./leaks-html.js";
import { moduleLink } from "./links.js";
import { signed } from "./signed.js";
import { whatIfHtml } from "./what-if-html.js";

/** Shows the summary as HTML. It is readable without JavaScript, which only makes its links work. */
export function summaryHtml(meta: ReportMeta): Html {
  return html`<section id="summary" aria-labelledby="summary-title">
<h2 id="summary-title">Plans and time</h2>
${figures(meta)}
<div class="columns">${plansTable(meta)}${candidates(meta)}</div>
${whatIfHtml(meta.whatIfs, timeFormatOf(meta))}
${heldHtml(meta.heldRows)}
${meta.leaks && leaksHtml(meta.leaks)}
${meta.comparison && comparisonHtml(meta.comparison, timeFormatOf(meta))}
</section>
`;
}

function figures(meta: ReportMeta): Html {
  const { summary, fsdp, comparison, from } = meta;
  const { steps, stepMs, phases } = summary;
  const formatTime = timeFormatOf(meta);
  const list: (readonly [string, string, string])[] = [];
  if (stepMs > 0)
    list.push([
      steps > 1 ? `Time of ${steps} steps` : from === "model" ? "Step time" : "Time",
      formatTime(stepMs),
      [
        ...(steps > 1 ? [`${formatTime(stepMs / steps)} each`] : []),
        ...phases.filter(({ ms }) => ms > 0).map(({ phase, ms }) => `${phase} ${formatTime(ms)}`),
      ].join(", "),
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

/** A search is reported as unfinished if a plan within the same memory could be faster by more than this fraction. */
const worthSearching = 0.01;

function plansTable(meta: ReportMeta): Html {
  const { plans, noPlans } = meta;
  const formatTime = timeFormatOf(meta);
  if (plans === undefined)
    return html`<div><h3>Recommended plans</h3><p>None: ${noPlans ?? "no plan was found"}.</p></div>`;
  if (plans.recommended.length === 0)
    return html`<div><h3>Recommended plans</h3><p>None: no plan was found that needs less memory than the recorded step.</p></div>`;
  const isOpen = plans.recommended.some(({ gap = 0 }) => gap > worthSearching);
  const row = (name: string, peakBytes: number, stepMs: number | undefined, overhead: number | undefined) =>
    html`<tr><th scope="row">${name}</th>${amount(peakBytes, formatBytes)}${amount(plans.recordedPeakBytes > 0 && peakBytes !== plans.recordedPeakBytes ? peakBytes / plans.recordedPeakBytes - 1 : undefined, signed)}${amount(stepMs, formatTime)}${amount(overhead, (share) => (share > 0 ? signed(share) : "none"))}</tr>`;
  return html`<div><h3>Recommended plans</h3>
<table><thead><tr><th scope="col">Plan</th><th scope="col" class="number">Peak</th><th scope="col" class="number">Change</th><th scope="col" class="number">Step</th><th scope="col" class="number">Extra time</th></tr></thead><tbody>${row("As recorded", plans.recordedPeakBytes, undefined, undefined)}${plans.recommended.map(
    (plan) =>
      row(
        `${plan.allowedOverhead === 0 ? "No slowdown" : `At most ${formatChosenPercent(plan.allowedOverhead)} more time`}${(plan.gap ?? 0) > worthSearching ? " *" : ""}`,
        plan.peakBytes,
        plan.stepMs,
        plan.overhead,
      ),
  )}</tbody></table>
<p class="note">Predicted. ${plans.isForTorch ? html`Plans apply <code>torch.utils.checkpoint</code> to modules or parts of them. <code>remat plan --pytorch-policy</code> writes them to a file.` : html`A plan frees everything after its last use, and recomputes forward ops if needed. <code>remat plan</code> writes one to a file.`}${isOpen && " * The search did not finish: more time (remat plan --time 60) may find a better plan."}</p></div>
`;
}

function candidates(meta: ReportMeta): Html {
  const { recomputeFirst } = meta.summary;
  if (recomputeFirst.length === 0) return html``;
  return html`<div><h3>Recompute these first</h3>
<table><thead><tr><th scope="col">Ops</th><th scope="col">Module</th><th scope="col" class="number">Frees</th><th scope="col" class="number">Costs</th></tr></thead><tbody>${recomputeFirst
    .slice(0, 6)
    .map(
      ({ opName, module, ops, bytes, recomputationMs }) =>
        html`<tr><th scope="row" class="whole">${ops} × ${opName}</th><td>${module.includes("*") ? breakable(module, ".") : moduleLink(module)}</td>${amount(bytes, formatBytes)}${amount(recomputationMs, timeFormatOf(meta))}</tr>`,
    )}</tbody></table><p class="note">The largest groups among the ops that free the most memory per recomputation time.</p></div>
`;
}
