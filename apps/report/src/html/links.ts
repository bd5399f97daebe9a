import { type Html, html } from "./html.js";

/** Makes a link that selects an op everywhere in the page. */
export function opLink(op: number, name: string): Html {
  return html`<a href="#op=${op}">${op} ${name}</a>`;
}

/** A name that may go on in the next line after a dot. */
function breakable(fqn: string): readonly Html[] {
  return fqn.split(".").map((part, i) => (i === 0 ? html`${part}` : html`.<wbr>${part}`));
}

/** Makes a link that selects a module everywhere in the page. */
export function moduleLink(fqn: string | undefined): Html {
  if (fqn === undefined || fqn === "") return html``;
  // As the page reads it; it also does for lone surrogates, which encodeURIComponent refuses.
  return html`<a href="#${new URLSearchParams({ module: fqn }).toString()}">${breakable(fqn)}</a>`;
}
