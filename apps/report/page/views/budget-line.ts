import { bytesOfBudget, parseBudget } from "@remat/memory";
import { describePlanWithin, formatBytes, formatOverhead } from "@remat/reporting";
import { displaySafeLines } from "@remat/trace/emit";
import type { Box } from "../charts/timeline-scene.js";
import { fill, h } from "../dom.js";
import { goTo } from "../interaction/go-to.js";
import type { PageContext } from "../page-context.js";
import { budgetOf } from "./plan-feed.js";

const help =
  "Up and Down arrows move between plans, Page Up and Page Down by a tenth of the peak, Delete removes the budget.";

/** Distance between the line and its label, in pixels. */
const labelGap = 4;

/** Scale of the chart, for a line in it. */
export interface BudgetScale {
  /** Position of an amount, in pixels from the upper edge. */
  readonly top: (bytes: number) => number;
  readonly bytesAt: (top: number) => number;
  /** Position from the left edge where a label within these rows covers nothing, or undefined if none exists. */
  readonly freePlace: (rows: Omit<Box, "left">) => number | undefined;
}

/**
 * Creates the budget of the whole step: a text field, a line that can be dragged or moved by keys, and a description of
 * the plan within it.
 */
export function budgetLine({ store, overview }: PageContext): {
  readonly controls: HTMLElement | false;
  readonly line: HTMLElement | false;
  /** Puts the line in its place. */
  place(scale: BudgetScale): void;
} {
  const { meta } = overview;
  const { plans, followed } = meta;
  const given = followed.find(({ name }) => name !== "");
  if (plans === undefined && given === undefined) return { controls: false, line: false, place: () => {} };
  const recordedPeakBytes = plans?.recordedPeakBytes ?? meta.summary.peak?.totalBytes ?? 0;
  const smallestBytes = Math.min(recordedPeakBytes, ...(plans?.front ?? []).map(({ peakBytes }) => peakBytes));
  let scale: BudgetScale | undefined;
  const set = (bytes: number): void =>
    store.update({ budget: Math.max(1, Math.min(recordedPeakBytes, Math.round(bytes))), plan: "auto" });
  const clear = (): void => store.update({ budget: -1, plan: "recorded" });

  const field = h("input", {
    id: "step-budget",
    type: "text",
    inputmode: "text",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: formatBytes(recordedPeakBytes),
    onchange: () => {
      const text = field.value.trim();
      field.setCustomValidity("");
      if (text === "") return clear();
      try {
        set(bytesOfBudget(parseBudget(text), recordedPeakBytes));
      } catch (error) {
        field.setCustomValidity((error as Error).message);
        field.reportValidity();
      }
    },
  });
  const button = (label: string, title: string, act: () => void): HTMLElement =>
    h("button", { type: "button", title, onclick: act }, label);
  const recorded = button("As recorded", "The step without a plan", clear);
  const asGiven = given && button(given.name, "The given plan", () => store.update({ budget: -1, plan: "given" }));
  const recommended = (plans?.recommended ?? []).map((plan) => ({
    plan,
    element: button(
      plan.overhead === 0 ? "No slowdown" : `+${formatOverhead(plan.overhead)}`,
      "The smallest plan found " +
        `for ${plan.allowedOverhead === 0 ? "no slowdown" : `at most ${formatOverhead(plan.allowedOverhead)} more time`}: ` +
        `${formatBytes(plan.peakBytes)}`,
      () => set(plan.peakBytes),
    ),
  }));
  const outcome = h("p", { class: "outcome", role: "status" });
  const listed = button("Show what it recomputes", "The ops, with recomputed ones first", () => {
    store.update({ sort: "plan", order: "down", module: "", filter: "", marks: 0, phase: -1, fate: -1 });
    goTo("ops");
  });
  const label = h("span", { class: "budget-label" });
  const line = h(
    "div",
    {
      class: "budget-line",
      role: "slider",
      tabindex: 0,
      "aria-orientation": "vertical",
      "aria-label": `Memory budget of the step. ${help}`,
      "aria-valuemin": 0,
      "aria-valuemax": recordedPeakBytes,
      title: "Drag: a budget for the step",
    },
    label,
  );
  if (plans !== undefined) followDrag(line, () => scale, set);
  line.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || plans === undefined) return;
    const now = store.state.budget < 0 ? recordedPeakBytes : store.state.budget;
    const peaks = plans.front.map(({ peakBytes }) => peakBytes);
    const actions: Readonly<Record<string, () => void>> = {
      // Peaks of the front are in falling order, so the first lower one is the next.
      ArrowDown: () => set(peaks.find((bytes) => bytes < now) ?? smallestBytes),
      ArrowUp: () => set(peaks.findLast((bytes) => bytes > now) ?? recordedPeakBytes),
      PageDown: () => set(now - recordedPeakBytes / 10),
      PageUp: () => set(now + recordedPeakBytes / 10),
      Home: () => set(recordedPeakBytes),
      End: () => set(smallestBytes),
      Delete: clear,
      Backspace: clear,
    };
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });
  const placeLine = (): void => {
    if (scale === undefined) return;
    const { budget } = store.state;
    const top = scale.top(budget < 0 ? recordedPeakBytes : budget);
    line.style.setProperty("top", `${top}px`);
    placeLabel(top, scale);
  };
  /**
   * The label is above or below the line. It is hidden if it would cover something, since the field also shows the
   * budget.
   */
  const placeLabel = (top: number, { freePlace }: BudgetScale): void => {
    const { offsetWidth: width, offsetHeight: height } = label;
    for (const rows of [top + labelGap, top - labelGap - height]) {
      const left = freePlace({ top: rows, width, height });
      if (left === undefined) continue;
      label.style.setProperty("left", `${left - line.offsetLeft}px`);
      label.style.setProperty("top", `${rows - top}px`);
      label.style.removeProperty("visibility");
      return;
    }
    label.style.setProperty("visibility", "hidden");
  };
  store.follow((state) => {
    const { budget, plan } = state;
    const within = budgetOf(state, meta);
    field.setCustomValidity("");
    if (document.activeElement !== field) field.value = budget < 0 ? "" : formatBytes(budget);
    line.classList.toggle("unset", budget < 0);
    label.textContent = budget < 0 ? "drag: budget" : `budget ${formatBytes(budget)}`;
    line.setAttribute("aria-valuenow", String(budget < 0 ? recordedPeakBytes : budget));
    line.hidden = plans === undefined;
    const isGiven = given !== undefined && budget < 0 && plan !== "recorded";
    const sentences =
      within !== undefined && budget < recordedPeakBytes
        ? describePlanWithin(within, { recordedPeakBytes })
        : isGiven
          ? [
              `Under ${given.name}.`,
              ...describePlanWithin({ budgetBytes: 0, point: given, smallest: given }, { recordedPeakBytes }),
            ]
          : budget >= recordedPeakBytes
            ? ["The step already fits as recorded."]
            : [];
    fill(outcome, sentences.join(" "));
    const shownPlan = isGiven ? given : (within?.point ?? undefined);
    listed.hidden = shownPlan === undefined || shownPlan.recomputations === 0;
    listed.textContent = `Show ${(shownPlan?.recomputations ?? 0).toLocaleString("en")} recomputations`;
    outcome.classList.toggle("bad", within !== undefined && within.point === undefined);
    line.setAttribute("aria-valuetext", displaySafeLines([label.textContent, ...sentences].join(". ")));
    recorded.setAttribute("aria-pressed", String(budget < 0 && !isGiven));
    asGiven?.setAttribute("aria-pressed", String(isGiven));
    for (const each of recommended)
      each.element.setAttribute("aria-pressed", String(within?.point?.peakBytes === each.plan.peakBytes));
    placeLine();
  });
  return {
    controls: h(
      "div",
      { class: "step-budget" },
      plans !== undefined && h("label", { for: "step-budget" }, "Budget ", field),
      h(
        "span",
        { class: "plan-choice", role: "group", "aria-label": "Shown plan" },
        recorded,
        asGiven,
        ...recommended.map(({ element }) => element),
      ),
      outcome,
      listed,
    ),
    line,
    place(next) {
      scale = next;
      placeLine();
    },
  };
}

/** Makes a line draggable up and down. */
function followDrag(line: HTMLElement, scale: () => BudgetScale | undefined, set: (bytes: number) => void): void {
  let offset: number | undefined;
  line.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    line.setPointerCapture(event.pointerId);
    offset = event.clientY - line.getBoundingClientRect().top;
  });
  line.addEventListener("pointermove", (event) => {
    const now = scale();
    const parent = line.parentElement;
    if (offset === undefined || now === undefined || parent === null) return;
    event.preventDefault();
    set(now.bytesAt(event.clientY - offset - parent.getBoundingClientRect().top));
  });
  for (const end of ["pointerup", "pointercancel"]) line.addEventListener(end, () => (offset = undefined));
}
