import type { Step } from "../state/action.js";
import type { AppState } from "../state/app-state.js";
import { exportKeys } from "../state/export-keys.js";
import { type GlobalAction, globalKeys } from "../state/global-keys.js";
import { bindingOf } from "../state/key-binding.js";
import { isMotion, rowsBy } from "../state/motion.js";
import { viewOf } from "../state/scene-of.js";
import type { View } from "../state/view.js";
import { moveBy } from "../table/list-place.js";
import type { ClickTarget } from "../text/drawn.js";
import { exportShown } from "./export-shown.js";
import { pageRows, reduceGlobal } from "./reduce-global.js";
import { openSelected, stopOpening } from "./reduce-opening.js";
import { promptKey } from "./reduce-prompt.js";
import { passToShownView } from "./reduce-view.js";
import { run, stay } from "./step.js";

/** Handles a key on the current screen. */
export function reduceKey(views: readonly View[], before: AppState, key: string): Step {
  const state = { ...before, notice: undefined };
  const action = bindingOf(globalKeys(views), key)?.action;
  if (key === "ctrl+c") return reduceGlobal(views, state, "quit", key);
  if (state.prompt !== undefined) return promptKey(views, state, state.prompt, key);
  if (state.exporting) {
    const format = exportKeys.find((choice) => choice.key === key);
    const chosen = { ...state, exporting: false };
    return format === undefined ? stay(chosen) : exportShown(views, chosen, format.name);
  }
  if (state.help !== undefined) return helpKey(state, state.help.top, action);
  switch (state.screen) {
    case "start":
      return startKey(views, state, key, action);
    case "plan":
      return planKey(views, state, key, action);
    case "views": {
      const own = bindingOf(viewOf(views, state).keys, key);
      if (own !== undefined) return passToShownView(views, state, { kind: "key", action: own.action });
      return action === undefined ? stay(state) : reduceGlobal(views, state, action, key);
    }
  }
}

/** Handles a click on a drawn element. */
export function reduceClick(views: readonly View[], before: AppState, target: ClickTarget): Step {
  if (before.help !== undefined || before.prompt !== undefined) return stay(before);
  const state = { ...before, notice: undefined };
  switch (state.screen) {
    case "start":
      if (target.kind !== "row") return stay(state);
      if (state.start.cursor === target.index) return openSelected(state);
      return stay({ ...state, start: { ...state.start, cursor: target.index } });
    case "plan":
      return stay(
        target.kind === "row" ? { ...state, planSteps: { ...state.planSteps, cursor: target.index } } : state,
      );
    case "views":
      if (target.kind !== "view") return passToShownView(views, state, { kind: "click", target });
      return stay({ ...state, view: views[target.number].name, trail: [] });
  }
}

/** Handles a turn of the wheel. */
export function reduceWheel(views: readonly View[], state: AppState, steps: 1 | -1): Step {
  if (state.help !== undefined || state.prompt !== undefined) return stay(state);
  if (state.screen === "views") return passToShownView(views, state, { kind: "wheel", steps });
  return stay(moveScreen(state, steps));
}

function helpKey(state: AppState, top: number, action: GlobalAction | undefined): Step {
  if (action === "redraw") return run(state, { kind: "redraw" });
  if (action !== undefined && isMotion(action)) {
    const by = rowsBy(action, pageRows(state));
    return stay({ ...state, help: { top: Math.max(0, top + by) } });
  }
  return stay({ ...state, help: undefined });
}

function startKey(views: readonly View[], state: AppState, key: string, action: GlobalAction | undefined): Step {
  if (key === "right" || key === "l") return openSelected(state);
  if (action === undefined) return stay(state);
  if (isMotion(action)) return stay(moveScreen(state, rowsBy(action, pageRows(state))));
  switch (action) {
    case "enter":
      return openSelected(state);
    case "back":
      if (state.start.loading !== undefined) return stopOpening(state);
      return stay(state.run === undefined ? state : { ...state, screen: "views" });
    case "open":
    case "search":
      return stay({ ...state, prompt: { kind: "open", text: "" } });
    case "help":
    case "theme":
    case "redraw":
    case "suspend":
    case "quit":
      return reduceGlobal(views, state, action, key);
    case "showView":
    case "nextView":
    case "previousView":
    case "nextMatch":
    case "previousMatch":
    case "export":
    case "copy":
      return stay(state);
  }
}

function planKey(views: readonly View[], state: AppState, key: string, action: GlobalAction | undefined): Step {
  if (action === undefined) return stay(state);
  if (isMotion(action)) return stay(moveScreen(state, rowsBy(action, pageRows(state))));
  switch (action) {
    case "back":
      return reduceGlobal(views, state, "open", key);
    case "help":
    case "theme":
    case "redraw":
    case "suspend":
    case "quit":
    case "open":
    case "export":
      return reduceGlobal(views, state, action, key);
    case "enter":
    case "search":
    case "showView":
    case "nextView":
    case "previousView":
    case "nextMatch":
    case "previousMatch":
    case "copy":
      return stay(state);
  }
}

/** Moves over the rows of a screen that is not a view. */
function moveScreen(state: AppState, by: number): AppState {
  const { start, plan, planSteps } = state;
  return state.screen === "start"
    ? { ...state, start: moveBy(start, by, start.entries.length) }
    : { ...state, planSteps: moveBy(planSteps, by, plan?.steps.length ?? 0) };
}
