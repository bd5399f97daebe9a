import { type Html, html } from "@remat/trace/emit";

/** Positions at which a long name may break. Numbers do not. */
const withinNames = /(?<=\D[._/])(?=\S)|(?<=[._/])(?=[^\d\s])/;

/** Creates a sentence whose long names may break between their parts, and whose numbers stay with their units. */
export function flowing(text: string): readonly Html[] {
  return text
    .replace(/(\d) (?=[KMGT]?i?B\b|[mµ]?s\b)/g, "$1\u00a0")
    .split(withinNames)
    .map((part, i) => (i === 0 ? html`${part}` : html`<wbr>${part}`));
}
