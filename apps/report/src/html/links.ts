import { type Html, html } from "@remat/trace/emit";
import { breakable } from "./breakable.js";

/** Makes a link that selects a module everywhere in the page. */
export function moduleLink(fqn: string | undefined): Html {
  if (fqn === undefined || fqn === "") return html``;
  // As the page reads it; it also does for lone surrogates, which encodeURIComponent refuses.
  return html`<a href="#${new URLSearchParams({ module: fqn }).toString()}">${breakable(fqn, ".")}</a>`;
}
