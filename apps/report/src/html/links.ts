import { type Html, html } from "@remat/trace/emit";
import { breakable } from "./breakable.js";

/** Creates a link that selects a module everywhere in the page. */
export function moduleLink(fqn: string | undefined): Html {
  if (fqn === undefined || fqn === "") return html``;
  // URLSearchParams is also how the page reads it, and accepts lone surrogates, which encodeURIComponent rejects.
  return html`<a href="#${new URLSearchParams({ module: fqn }).toString()}">${breakable(fqn, ".")}</a>`;
}
