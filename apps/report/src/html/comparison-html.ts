import { type ComparedQuantity, formatBytes, formatMs, labelCategory, type TimeFormat } from "@remat/reporting";
import { type Html, html } from "@remat/trace/emit";
import { formatNumber } from "@remat/trace/text";
import type { Comparison } from "../data/report-meta.js";
import { amount } from "./amount.js";
import { moduleLink } from "./links.js";
import { signed } from "./signed.js";

/**
 * Shows two runs side by side: totals, categories at the peak, and the modules with the largest differences.
 *
 * @param formatTime formats times of the report's own run
 */
export function comparisonHtml({ name, isMeasured, view }: Comparison, formatTime: TimeFormat): Html {
  const before = isMeasured ? "Predicted" : view.before;
  const after = isMeasured ? "Measured" : name;
  const labelled = view.categories.map((quantity) => ({
    ...quantity,
    name: `${labelCategory(quantity.name)} at the peak`,
  }));
  const modules = view.modules
    .filter(({ memoryBytes }) => (memoryBytes.difference ?? 0) !== 0)
    .sort((a, b) => Math.abs(b.memoryBytes.difference!) - Math.abs(a.memoryBytes.difference!) || a.depth - b.depth)
    .slice(0, 8);
  return html`<div id="comparison"><h3>${isMeasured ? "Predicted and measured" : `Compared with ${name}`}</h3>
${view.notes.map((note) => html`<p class="note">${note}</p>`)}
<div class="scroll" tabindex="0" role="region" aria-label="Comparison"><table><thead><tr><th scope="col">Quantity</th><th scope="col" class="number">${before}</th><th scope="col" class="number">${after}</th><th scope="col" class="number">${isMeasured ? "Error" : "Change"}</th></tr></thead><tbody>${[
    ...view.totals,
    ...labelled,
  ].map((quantity) => line(quantity, isMeasured, formatTime))}</tbody></table></div>
${
  modules.length > 0 &&
  html`<div class="scroll" tabindex="0" role="region" aria-label="Modules that differ"><table><thead><tr><th scope="col">Module</th><th scope="col" class="number">${before}</th><th scope="col" class="number">${after}</th><th scope="col" class="number">Change</th></tr></thead><tbody>${modules.map(
    ({ fqn, memoryBytes: { before: a, after: b, ratio } }) =>
      html`<tr><th scope="row">${moduleLink(fqn)}</th>${amount(a, formatBytes)}${amount(b, formatBytes)}${amount(ratio, signed)}</tr>`,
  )}</tbody></table></div>`
}</div>
`;
}

function line(
  { name, unit, value: { before, after, ratio } }: ComparedQuantity,
  isMeasured: boolean,
  formatTime: TimeFormat,
): Html {
  const shown =
    (inTime: TimeFormat) =>
    (value: number): string =>
      unit === "bytes" ? formatBytes(value) : unit === "ms" ? inTime(value) : formatNumber(value);
  // A prediction error is relative to the measured value.
  const share = isMeasured
    ? before != null && after != null && after !== 0
      ? (before - after) / after
      : undefined
    : ratio;
  return html`<tr><th scope="row">${capital(name)}</th>${amount(before, shown(formatTime))}${amount(after, shown(isMeasured ? formatMs : formatTime))}${amount(share, signed)}</tr>`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
