import { type Html, html } from "@remat/trace/emit";

/** Makes a cell with a number as people read it, and as it is for a program that reads the table. */
export function amount(value: number | undefined | null, format: (value: number) => string): Html {
  return value == null
    ? html`<td class="number"></td>`
    : html`<td class="number" data-value="${value}">${format(value)}</td>`;
}
