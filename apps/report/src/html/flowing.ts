import { type Html, html } from "@remat/trace/emit";

/** Behind these a long name goes on in the next line; a number does not. */
const withinNames = /(?<=\D[._/])(?=\S)|(?<=[._/])(?=[^\d\s])/;

/** Makes a sentence whose long names may be broken between their parts, and whose numbers stay with their units. */
export function flowing(text: string): readonly Html[] {
  return text
    .replace(/(\d) (?=%|[KMGT]?i?B\b|[mµ]?s\b)/g, "$1\u00a0")
    .split(withinNames)
    .map((part, i) => (i === 0 ? html`${part}` : html`<wbr>${part}`));
}
