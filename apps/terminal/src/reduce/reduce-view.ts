import { findModule } from "../document/find-module.js";
import { withSettings } from "../document/run.js";
import { bodyArea } from "../screen/draw-screen.js";
import type { Step } from "../state/action.js";
import type { AppState } from "../state/app-state.js";
import type { Command } from "../state/command.js";
import { sceneOf, viewOf } from "../state/scene-of.js";
import type { Outcome, Scene, Searchable, View, ViewAction, ViewRequest } from "../state/view.js";
import { stay, withNotice } from "./step.js";

/** Passes an action to a view, and applies its requests. */
export function passToView(views: readonly View[], state: AppState, view: View, action: ViewAction): Step {
  return fulfil(views, state, view, view.reduce(sceneFor(views, state), state.own[view.name], action));
}

/** Passes an action to the current view. */
export function passToShownView(views: readonly View[], state: AppState, action: ViewAction): Step {
  return passToView(views, state, viewOf(views, state), action);
}

/** Returns what can be searched in the current view. */
export function searchableOf(views: readonly View[], state: AppState): Searchable | undefined {
  const view = viewOf(views, state);
  return view.search?.(sceneFor(views, state), state.own[view.name]);
}

/** Returns the app as a view sees it, with the available space. */
export function sceneFor(views: readonly View[], state: AppState): Scene {
  return sceneOf(state, bodyArea(views, state));
}

/** Stores a view's own state, and applies its requests. */
export function fulfil(views: readonly View[], state: AppState, view: View, outcome: Outcome<unknown>): Step {
  const { own, requests = [] } = outcome;
  const commands: Command[] = [];
  let next = Object.is(state.own[view.name], own) ? state : { ...state, own: { ...state.own, [view.name]: own } };
  for (const request of requests) {
    const step = fulfilOne(views, next, view, request);
    next = step.state;
    commands.push(...step.commands);
  }
  return { state: next, commands };
}

function fulfilOne(views: readonly View[], state: AppState, { name }: View, request: ViewRequest): Step {
  switch (request.kind) {
    case "select":
      return stay({ ...state, module: request.module });
    case "drillInto": {
      const into = views.find((view) => view.name === request.view);
      if (into === undefined) return stay(state);
      const trail = [...state.trail, { view: name, module: state.module }];
      const there = { ...state, trail, view: into.name, module: request.module };
      return passToView(views, there, into, { kind: "arrive", op: request.op });
    }
    case "leave": {
      const from = state.trail.at(-1);
      if (from === undefined) return stay({ ...state, view: views[0].name });
      return stay({ ...state, trail: state.trail.slice(0, -1), view: from.view, module: from.module });
    }
    case "settings": {
      if (state.run === undefined) return stay(state);
      const changed = withSettings(state.run, request.settings);
      const tree = changed.document.tree();
      const module = findModule(tree, state.module) ?? tree.nodes[0];
      return stay({ ...state, run: changed, module: module?.fqn });
    }
    case "ask": {
      const { label, text, hint } = request;
      return stay({ ...state, prompt: { kind: "ask", label, text, hint } });
    }
    case "tell":
      return stay(withNotice(state, request.text, request.isWarning));
    case "work":
      return { state, commands: [{ kind: "work", view: name, work: request.work }] };
    case "stopWork":
      return { state, commands: [{ kind: "stopWork", view: name, work: request.work }] };
    case "writeFile":
      return { state, commands: [request] };
  }
}
