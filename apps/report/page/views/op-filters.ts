import { OpMark, opFateNames } from "@remat/reporting";
import { phaseNames } from "@remat/trace";
import { h } from "../dom.js";
import type { PageState, Store } from "../state.js";
import { fateLabels } from "./budget.js";

const flags: readonly (readonly [label: string, bit: number])[] = [
  ["view", OpMark.view],
  ["random", OpMark.random],
  ["in-place", OpMark.inPlace],
  ["saved by autograd", OpMark.savedByAutograd],
];

/** Creates the fields that filter the ops table by text, phase, flags and module. */
export function opFilters(store: Store): { readonly element: HTMLElement; show(state: PageState): void } {
  const text = h("input", {
    type: "search",
    "aria-label": "Filter by name or module",
    placeholder: "Filter by name or module",
    oninput: () => store.update({ filter: text.value }),
  });
  const phase = h(
    "select",
    { "aria-label": "Phase", onchange: () => store.update({ phase: Number(phase.value) }) },
    h("option", { value: -1 }, "every phase"),
    ...phaseNames.map((name, i) => h("option", { value: i }, name)),
  );
  const boxes = flags.map(([label, bit]) => {
    const input = h("input", {
      type: "checkbox",
      onchange: () => store.update({ marks: input.checked ? store.state.marks | bit : store.state.marks & ~bit }),
    });
    return { bit, input, label: h("label", {}, input, h("span", {}, label)) };
  });
  const fate = h(
    "select",
    { "aria-label": "Policy", onchange: () => store.update({ fate: Number(fate.value) }) },
    h("option", { value: -1 }, "every policy"),
    ...opFateNames.map((name, i) => h("option", { value: i }, fateLabels[name].toLowerCase())),
  );
  const clear = h(
    "button",
    { type: "button", onclick: () => store.update({ filter: "", marks: 0, phase: -1, fate: -1, module: "" }) },
    "Clear",
  );
  return {
    element: h(
      "div",
      { class: "filters" },
      text,
      phase,
      fate,
      h("fieldset", { class: "choice" }, h("legend", {}, "Only"), ...boxes.map(({ label }) => label)),
      clear,
    ),
    show: (state) => {
      if (text.value !== state.filter) text.value = state.filter;
      phase.value = String(state.phase);
      fate.value = String(state.fate);
      for (const { bit, input } of boxes) input.checked = (state.marks & bit) !== 0;
      clear.hidden =
        state.filter === "" && state.marks === 0 && state.phase < 0 && state.fate < 0 && state.module === "";
    },
  };
}
