import { h } from "../dom.js";
import { exportPng, exportSvg } from "../interaction/download.js";

/** Creates a section of the page with its heading. */
export function section(
  id: string,
  title: string,
  ...children: readonly (Node | string | false | undefined)[]
): HTMLElement {
  return h(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    h("h2", { id: `${id}-title` }, title),
    ...children.map((child) => child ?? false),
  );
}

/** Creates buttons that save a chart, returned by `draw` as an SVG document, and its figures, if any. */
export function exportButtons(name: string, draw: (() => string) | undefined, saveCsv?: () => void): HTMLElement {
  const button = (label: string, save: () => void): HTMLElement =>
    h("button", { type: "button", "aria-label": `Save ${name} as ${label}`, onclick: save }, label);
  return h(
    "span",
    { class: "exports end", role: "group", "aria-label": `Save ${name}` },
    draw && button("SVG", () => exportSvg(name, draw())),
    draw && button("PNG", () => void exportPng(name, draw())),
    saveCsv && button("CSV", saveCsv),
  );
}

/** Creates a choice among a few options, as radio buttons in a row. */
export function choice<T extends string>(
  legend: string,
  name: string,
  options: readonly (readonly [value: T, label: string])[],
  onChoose: (value: T) => void,
): { readonly element: HTMLElement; show(value: T): void } {
  const inputs = options.map(([value, label]) => {
    const input = h("input", { type: "radio", name, value, onchange: () => onChoose(value) });
    return { value, input, label: h("label", {}, input, h("span", {}, label)) };
  });
  return {
    element: h("fieldset", { class: "choice" }, h("legend", {}, legend), ...inputs.map(({ label }) => label)),
    show: (value) => {
      for (const each of inputs) each.input.checked = each.value === value;
    },
  };
}
