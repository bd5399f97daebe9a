import type { Colour } from "@remat/reporting";
import { h, s } from "../dom.js";
import { shade } from "../theme.js";

/** Draws a small square of a colour. */
export function swatch(colour: string): SVGElement {
  return s(
    "svg",
    { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" },
    s("rect", { width: 10, height: 10, fill: colour }),
  );
}

/** Creates a legend of colours, with values if there are any. */
export function bandLegend(
  entries: readonly { readonly label: string; readonly colour: Colour; readonly value?: string }[],
): HTMLElement {
  return h(
    "ul",
    { class: "bands" },
    ...entries.map(({ label, colour, value }) =>
      h("li", {}, swatch(shade(colour)), h("span", {}, label), value !== undefined && h("b", {}, value)),
    ),
  );
}
