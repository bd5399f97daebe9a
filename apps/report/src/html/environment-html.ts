import type { EnvironmentGroup } from "@remat/reporting";
import { type Html, html } from "@remat/trace/emit";

/** Shows how every number was obtained. */
export function environmentHtml(groups: readonly EnvironmentGroup[]): Html {
  return html`<section id="environment" aria-labelledby="environment-title">
<h2 id="environment-title">Environment</h2>
<div class="columns">${groups.map(
    ({ title, facts }) =>
      html`<div><h3>${title}</h3><dl class="facts">${facts.map(
        ({ name, value, how }) =>
          html`<div><dt>${name}</dt><dd>${value}${how !== undefined && html`<small>${how}</small>`}</dd></div>`,
      )}</dl></div>`,
  )}</div>
</section>
`;
}
