import type { Step } from "../state/action.js";
import type { AppState } from "../state/app-state.js";
import type { GlobalAction } from "../state/global-keys.js";
import { isMotion, rowsBy } from "../state/motion.js";
import { viewOf } from "../state/scene-of.js";
import type { View } from "../state/view.js";
import type { ThemeName } from "../text/theme.js";
import { keepCommands } from "./kept-view.js";
import { repeatSearch } from "./reduce-prompt.js";
import { passToShownView, sceneFor } from "./reduce-view.js";
import { run, stay, withNotice } from "./step.js";

/** Returns the number of rows per page, the same in every view. */
export function pageRows({ size }: AppState): number {
  return Math.max(1, size.rows - 6);
}

/** Handles a key that is not a view's own. */
export function reduceGlobal(views: readonly View[], state: AppState, action: GlobalAction, key: string): Step {
  if (isMotion(action))
    return passToShownView(views, state, { kind: "move", motion: action, by: rowsBy(action, pageRows(state)) });
  switch (action) {
    case "showView":
      return stay(showView(views, state, key === "0" ? 9 : Number(key) - 1));
    case "nextView":
      return stay(showView(views, state, views.indexOf(viewOf(views, state)) + 1));
    case "previousView":
      return stay(showView(views, state, views.indexOf(viewOf(views, state)) - 1));
    case "enter":
    case "back":
      return passToShownView(views, state, { kind: action });
    case "search":
      return stay({ ...state, prompt: { kind: "search", text: "", matches: [], chosen: 0, total: 0 } });
    case "nextMatch":
      return repeatSearch(views, state, 1);
    case "previousMatch":
      return repeatSearch(views, state, -1);
    case "help":
      return stay({ ...state, help: { top: 0 } });
    case "export":
      return stay({ ...state, exporting: true });
    case "copy":
      return copyName(views, state);
    case "theme":
      return turnTheme(state);
    case "open":
      return run({ ...state, screen: "start" }, { kind: "listEntries" });
    case "redraw":
    case "suspend":
      return run(state, { kind: action });
    case "quit":
      return run(state, { kind: "stopOpening" }, { kind: "stopAllWork" }, ...keepCommands(views, state), {
        kind: "quit",
      });
  }
}

/** Shows a view by its number, wrapping around. */
function showView(views: readonly View[], state: AppState, number: number): AppState {
  return { ...state, view: views[(number + views.length) % views.length].name, trail: [] };
}

function copyName(views: readonly View[], state: AppState): Step {
  const view = viewOf(views, state);
  const text = view.copied?.(sceneFor(views, state), state.own[view.name]);
  if (text === undefined) return stay(withNotice(state, "There is nothing here to copy.", true));
  return run(withNotice(state, `copied: ${text}`), { kind: "copy", text });
}

function turnTheme(state: AppState): Step {
  const theme: ThemeName = state.look.theme === "dark" ? "light" : "dark";
  const turned = { ...state, look: { ...state.look, theme } };
  return run(withNotice(turned, `colours for a ${theme} background`), { kind: "saveTheme", theme });
}
