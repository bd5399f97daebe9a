import { type Html, html } from "@remat/trace/emit";

/** Creates a cell with a formatted number, and its exact value for programs that read the table. */
export function amount(value: number | undefined | null, format: (value: number) => string): Html {
  return value == null
    ? html`<td class="number"></td>`
    : html`<td class="number" data-value="${value}">${format(value)}</td>`;
}
