import { formatBytes, formatPercent } from "@remat/reporting";
import { type HeldRow } from "@remat/reporting/held-tree";
import { type Html, html } from "@remat/trace/emit";
import { amount } from "./amount.js";

/** Shows the largest groups in use at the peak for print and without JavaScript, where the tree cannot be opened. */
export function heldHtml(rows: readonly HeldRow[]): Html {
  if (rows.length === 0) return html``;
  return html`<div class="at-rest"><h3>Live tensors at the peak</h3>
<table><thead><tr><th scope="col">Group</th><th scope="col" class="number">Size</th><th scope="col" class="number">Share</th><th scope="col" class="number">Storages</th></tr></thead><tbody>${rows.map(
    ({ label, depth, category, bytes, share, count, eachBytes }) =>
      html`<tr><th scope="row">${depth === 0 && html`<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class="category-${category}" width="10" height="10"/></svg>`}${"\u2003".repeat(depth)}${label}</th>${amount(bytes, formatBytes)}${amount(share, formatPercent)}<td class="number">${count}${eachBytes !== undefined && html` × ${formatBytes(eachBytes)}`}</td></tr>`,
  )}</tbody></table></div>
`;
}
