import { formatBytes } from "@remat/reporting";
import { type Html, html } from "@remat/trace/emit";
import type { LeakFindings } from "../data/report-meta.js";
import { amount } from "./amount.js";
import { moduleLink } from "./links.js";

/** Shows the storages that outlive the steps of the run, by line, op, shape and module. Nothing if none exist. */
export function leaksHtml({ facts, rows }: LeakFindings): Html | false {
  if (rows.length === 0) return false;
  return html`<div id="leaks"><h3>Tensors that outlive their step</h3>
<p class="note">${facts.join(" ")}</p>
<div class="scroll" tabindex="0" role="region" aria-label="Tensors that outlive their step"><table><thead><tr><th scope="col">Line</th><th scope="col">Op</th><th scope="col">Tensor</th><th scope="col">Module</th><th scope="col">Kind</th><th scope="col" class="number">Storages</th><th scope="col" class="number">Memory</th><th scope="col" class="number">Per step</th><th scope="col">Fix</th></tr></thead><tbody>${rows.map(
    ({ line, op, tensor, module, kind, count, bytes, growth, fix }, i) =>
      html`<tr><th scope="row">${i > 0 && rows[i - 1].line === line ? "" : line}</th><td>${op}</td><td>${tensor}</td><td>${module === "" ? "" : moduleLink(module)}</td><td>${kind}</td>${amount(count, String)}${amount(bytes, formatBytes)}<td class="number">${growth}</td><td>${fix}</td></tr>`,
  )}</tbody></table></div></div>
`;
}
