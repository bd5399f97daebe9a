import {
  formatBytes,
  formatPercent,
  type OpFateName,
  opFateNames,
  type PolicyView,
  type TimeFormat,
} from "@remat/reporting";
import { h } from "../dom.js";
import type { PolicyAnswer } from "../engine/answers.js";
import { amountCell } from "../interaction/table-csv.js";
import type { PageState, Store } from "../state.js";
import { choice } from "./figure.js";

/** Creates the slider for the budget and the choice of method. */
export function budgetControls(store: Store): {
  readonly element: HTMLElement;
  show(state: PageState, totalBytes: number | undefined): void;
} {
  const slider = h("input", {
    type: "range",
    id: "budget",
    min: 0,
    max: 1000,
    step: 5,
    oninput: () => store.update({ keep: Number(slider.value) }),
  });
  const output = h("output", { for: "budget" });
  const method = choice(
    "Method",
    "budget-method",
    [
      ["greedy", "greedy"],
      ["optimal", "optimal"],
    ],
    (value) => store.update({ method: value }),
  );
  return {
    element: h(
      "div",
      { class: "budget-controls" },
      h("label", { for: "budget" }, "Memory to save ", output),
      slider,
      method.element,
    ),
    show: ({ keep, method: chosen }, totalBytes) => {
      slider.value = String(keep);
      const text = `${formatPercent(keep / 1000)}${totalBytes === undefined ? "" : `, ${formatBytes((keep / 1000) * totalBytes)}`}`;
      output.textContent = text;
      slider.setAttribute("aria-valuetext", text);
      method.show(chosen);
    },
  };
}

export const fateLabels: Readonly<Record<OpFateName, string>> = {
  stored: "Saved",
  recomputed: "Recomputed",
  alwaysStored: "Always saved",
  alwaysRecomputed: "Always recomputed",
};

/** Shows the effect of the budget: ops stored and recomputed by both methods, and their cost. */
export function policyTable(
  answer: PolicyAnswer,
  method: "greedy" | "optimal",
  runtimeMs: number,
  formatTime: TimeFormat,
  showOps: (fate: number) => void,
): HTMLElement {
  const { greedy, optimal, whyNotOptimal } = answer;
  const chosen = method === "optimal" ? (optimal ?? greedy) : greedy;
  const row = (label: string, policy: PolicyView): HTMLElement =>
    h(
      "tr",
      { class: policy === chosen ? "chosen" : undefined },
      h("th", { scope: "row" }, label),
      amountCell(policy.storedBytes, formatBytes),
      amountCell(policy.recomputationMs, formatTime),
      amountCell(runtimeMs > 0 ? policy.recomputationMs / runtimeMs : 0, formatPercent),
    );
  const head = (...labels: readonly string[]): HTMLElement =>
    h(
      "thead",
      {},
      h("tr", {}, ...labels.map((label, i) => h("th", { scope: "col", class: i > 0 ? "number" : undefined }, label))),
    );
  const notes = [
    !chosen.fits && `Ops that must be saved take ${formatBytes(chosen.storedBytes)}, more than the budget.`,
    optimal === undefined && whyNotOptimal !== undefined && `No optimum: ${whyNotOptimal}.`,
    optimal !== undefined &&
      greedy.recomputationMs > optimal.recomputationMs * 1.0001 &&
      `The greedy plan costs ${formatTime(greedy.recomputationMs - optimal.recomputationMs)} more than the optimum.`,
  ].filter((note): note is string => typeof note === "string");
  return h(
    "div",
    { "aria-live": "polite" },
    h(
      "table",
      {},
      head("Method", "Saves", "Recomputes", "Of forward"),
      h("tbody", {}, row("Greedy", greedy), optimal && row("Optimal", optimal)),
    ),
    h(
      "table",
      {},
      head("Ops", "Count", "Memory", "Time"),
      h(
        "tbody",
        {},
        ...chosen.totals.map(({ ops, bytes, ms }, fate) =>
          h(
            "tr",
            { class: `fate-${fate}` },
            h(
              "th",
              { scope: "row" },
              h(
                "button",
                { type: "button", class: "link", title: "Show them among the ops", onclick: () => showOps(fate) },
                fateLabels[opFateNames[fate]],
              ),
            ),
            amountCell(ops, (count) => count.toLocaleString("en")),
            amountCell(bytes, formatBytes),
            amountCell(ms, formatTime),
          ),
        ),
      ),
    ),
    ...notes.map((note) => h("p", { class: "note" }, note)),
  );
}
