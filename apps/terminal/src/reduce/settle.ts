import { RematError } from "@remat/trace";
import { bodyArea } from "../screen/draw-screen.js";
import { settleHelp } from "../screen/help-screen.js";
import { planRoom } from "../screen/plan-screen.js";
import { startRoom } from "../screen/start-screen.js";
import type { Step } from "../state/action.js";
import type { AppState } from "../state/app-state.js";
import { sceneOf, viewOf } from "../state/scene-of.js";
import type { Area, View } from "../state/view.js";
import { settlePlace } from "../table/list-place.js";
import { fulfil } from "./reduce-view.js";
import { stay } from "./step.js";

/** Adjusts the screen to the available space: cursors to lists, windows to cursors. */
export function settle(views: readonly View[], state: AppState): Step {
  const area = bodyArea(views, state);
  if (state.help !== undefined) {
    const top = settleHelp(views, state, state.help.top, area);
    return stay(top === state.help.top ? state : { ...state, help: { top } });
  }
  switch (state.screen) {
    case "start":
      return stay({ ...state, start: settlePlace(state.start, state.start.entries.length, startRoom(state, area)) });
    case "plan": {
      const { plan } = state;
      if (plan === undefined) return stay(state);
      return stay({
        ...state,
        planSteps: settlePlace(state.planSteps, plan.steps.length, planRoom(state, plan, area)),
      });
    }
    case "views":
      return settleView(views, state, area);
  }
}

function settleView(views: readonly View[], state: AppState, area: Area): Step {
  const view = viewOf(views, state);
  if (view.settle === undefined) return stay(state);
  try {
    return fulfil(views, state, view, view.settle(sceneOf(state, area), state.own[view.name]));
  } catch (error) {
    // The error is shown when drawing.
    if (error instanceof RematError) return stay(state);
    throw error;
  }
}
