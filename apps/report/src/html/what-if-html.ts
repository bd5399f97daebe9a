import { formatBytes, type TimeFormat, type WhatIfRow } from "@remat/reporting";
import { type Html, html } from "@remat/trace/emit";
import { amount } from "./amount.js";
import { breakable } from "./breakable.js";
import { signed } from "./signed.js";

/** Shows answers to what-if questions next to the step as it is. */
export function whatIfHtml([present, ...others]: readonly WhatIfRow[], formatTime: TimeFormat): Html {
  if (present === undefined) return html``;
  return html`<div class="columns" id="what-if"><div><h3>What if</h3>
<table><thead><tr><th scope="col">With</th><th scope="col" class="number">Peak</th><th scope="col" class="number">Change</th><th scope="col">Fits</th><th scope="col" class="number">Step</th></tr></thead><tbody>${[
    present,
    ...others,
  ].map((row) =>
    rowHtml(row, row === present ? undefined : present.peakBytes, formatTime),
  )}</tbody></table>${reasonsHtml(others)}<p class="note">Each row changes one setting of the unmodified step. Batches are per rank. Ask other questions in <code>remat ui</code>, or search with <code>remat fit</code>.</p></div></div>
`;
}

/** Explains why a variant uses more memory although less was expected. */
function reasonsHtml(rows: readonly WhatIfRow[]): Html | false {
  const told = rows.filter(({ reason }) => reason !== undefined);
  return (
    told.length > 0 &&
    html`<ul class="note">${told.map(({ question, reason }) => html`<li>${breakable(question, "=,")}: ${reason}.</li>`)}</ul>`
  );
}

function rowHtml(
  { question, answer, peakBytes, fits, stepMs }: WhatIfRow,
  presentBytes: number | undefined,
  formatTime: TimeFormat,
): Html {
  if (peakBytes === undefined)
    return html`<tr><th scope="row">${breakable(question, "=,")}</th><td colspan="4" class="reason">${answer}</td></tr>`;
  const change =
    presentBytes === undefined || presentBytes === 0 || peakBytes === presentBytes
      ? undefined
      : peakBytes / presentBytes - 1;
  return html`<tr><th scope="row">${breakable(question, "=,")}</th>${amount(peakBytes, formatBytes)}${amount(change, signed)}<td>${fits === undefined ? "" : fits ? "yes" : "no"}</td>${amount(stepMs, formatTime)}</tr>`;
}
