import {
  describeBest,
  describeNext,
  type FitCell,
  type FitSummary,
  fitMatrix,
  formatRate,
  formatStepMs,
  valueOf,
} from "@remat/fit";
import { formatBytes, formatWholePercent } from "@remat/reporting";
import { type Html, html } from "@remat/trace/emit";
import { fitScript, fitStyle } from "./html/fit-page.js";

/** Options of {@link renderFit}. */
export interface RenderFitOptions {
  /** How times were obtained, how recorded runs were scaled, and other remarks. */
  readonly notes?: readonly string[];
}

/**
 * Renders the results of `fit` as one self-contained HTML document: a matrix in which values of each dimension can be
 * hidden. The best row and the front are then those of the rest. Without JavaScript everything is visible.
 *
 * @example
 * await writeFile("fit.html", renderFit(summarizeFit(units, answers, { model: "resnet50" })));
 */
export function renderFit(summary: FitSummary, { notes = [] }: RenderFitOptions = {}): string {
  const { model, objective, best, left } = summary;
  const { ways, rows, values } = fitMatrix(summary);
  const rankOf = new Map(summary.rows.map((row, i) => [row, i]));
  const cell = (found: FitCell | undefined): Html => {
    if (found === undefined) return html`<td></td>`;
    const { configuration } = found;
    const of = JSON.stringify(
      values.map(({ dimension, values: all }) => all.indexOf(valueOf(configuration, dimension))),
    );
    if (found.kind === "refused")
      return html`<td class="none" data-of="${of}" title="${found.reason}">not supported</td>`;
    if (found.kind === "not-fitting")
      return html`<td class="none" data-of="${of}" title="${describeNext(found.smallest)}">does not fit<small>${describeNext(found.smallest)}</small></td>`;
    const { row, isBest } = found;
    const { batch, microBatches, peakBytes, memoryShare, stepMs, samplesPerSecond, costPerMillion, isOnFront } = row;
    const facts = [
      `${formatBytes(peakBytes)}, ${formatWholePercent(memoryShare)}`,
      ...(samplesPerSecond === undefined ? [] : [`${formatRate(samplesPerSecond, summary)} samples/s`]),
      ...(stepMs === undefined ? [] : [`${formatStepMs(stepMs, summary)} a step`]),
      ...(costPerMillion === undefined ? [] : [`${formatRate(costPerMillion, summary)} a million`]),
      ...(row.next === undefined ? [] : [`next ${describeNext(row.next)}`]),
    ];
    const aims = [peakBytes, -(samplesPerSecond ?? 0), costPerMillion ?? 0];
    return html`<td class="${`${isOnFront ? "front" : ""} ${isBest ? "best" : ""}`.trim()}" data-of="${of}" data-rank="${rankOf.get(row)}" data-aims="${JSON.stringify(aims)}" data-text="${describeBest(row, summary)}"><strong>${batch}${microBatches > 1 && html` × ${microBatches}`}</strong>${facts.map((fact) => html`<small>${fact}</small>`)}</td>`;
  };
  const { html: page } = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${model} – configurations that fit</title>${fitStyle}</head>
<body><header><h1>Configurations that fit: ${model}</h1><p id="best" role="status">${best === undefined ? "nothing fits" : describeBest(best, summary)}</p>
${notes.map((note) => html`<p class="note">${note}</p>`)}${left > 0 && html`<p class="note">The search ended early: ${left} configurations were not tried.</p>`}</header>
<main><form aria-label="Filters">${values.map(
    ({ dimension, values: all }, i) =>
      html`<fieldset><legend>${dimension}</legend>${all.map((value, j) => html`<label><input type="checkbox" checked data-dimension="${i}" data-value="${j}"> ${value}</label>`)}</fieldset>`,
  )}</form>
<div class="scroll" tabindex="0" role="region" aria-label="Configurations"><table><thead><tr><th scope="col">Best by ${objective}</th>${ways.map((way) => html`<th scope="col">${way}</th>`)}</tr></thead><tbody>${rows.map(
    ({ name, cells }) => html`<tr><th scope="row">${name}</th>${cells.map(cell)}</tr>`,
  )}</tbody></table></div>
<p class="note">The large number is the batch, times its passes. A bold frame marks the best configuration. A thin frame marks the Pareto front: no other configuration is at least as good in memory, speed and price.</p>
<noscript><p class="note">JavaScript is off, so filters do not work.</p></noscript></main>
${fitScript}</body></html>
`;
  return page;
}
