import { RematError } from "@remat/trace";
import type { Action, Step } from "../state/action.js";
import type { AppState } from "../state/app-state.js";
import type { Command } from "../state/command.js";
import type { View } from "../state/view.js";
import { keepCommands } from "./kept-view.js";
import { reduceClick, reduceKey, reduceWheel } from "./reduce-input.js";
import {
  addOther,
  allOpened,
  beginOpening,
  notOpened,
  opened,
  showOpeningProgress,
  showTrace,
} from "./reduce-opening.js";
import { passToView } from "./reduce-view.js";
import { settle } from "./settle.js";
import { stay, withNotice } from "./step.js";

/**
 * Returns the state after an action, and the commands to run. It is pure: the same views, state and action give the
 * same result. A view's error (`RematError`) is shown at the bottom of the screen.
 */
export function reduce(views: readonly View[], state: AppState, action: Action): Step {
  const { state: next, commands } = attempt(views, state, action);
  const settled = settle(views, next);
  return { state: settled.state, commands: [...commands, ...settled.commands, ...judging(state, settled.state)] };
}

/** Requests the full verdict on the shown step in the background. */
function judging(before: AppState, { run, screen }: AppState): readonly Command[] {
  const document = run?.document;
  const isNew = document !== undefined && (document !== before.run?.document || before.screen === "start");
  return isNew && screen !== "start" && document.isJudgedLater ? [{ kind: "judge", document }] : [];
}

function attempt(views: readonly View[], state: AppState, action: Action): Step {
  try {
    return reduceAction(views, state, action);
  } catch (error) {
    if (!(error instanceof RematError)) throw error;
    return stay(withNotice(state, error.message, true));
  }
}

function reduceAction(views: readonly View[], state: AppState, action: Action): Step {
  switch (action.kind) {
    case "key":
      return reduceKey(views, state, action.key);
    case "click":
      return reduceClick(views, state, action.target);
    case "wheel":
      return reduceWheel(views, state, action.steps);
    case "resize":
      return stay({ ...state, size: action.size });
    case "open":
      return beginOpening(state, action.targets);
    case "opening":
      return stay(showOpeningProgress(state, action));
    case "opened":
      return opened(views, state, action);
    case "allOpened":
      return stay(allOpened(state, action.id));
    case "notOpened":
      return notOpened(state, action);
    case "show":
      return showTrace(views, state, action);
    case "judged":
      if (state.run?.document !== action.document) return stay(state);
      return stay({ ...state, run: { ...state.run, judged: { document: action.document, verdict: action.verdict } } });
    case "compareWith":
      return stay(addOther(state, action));
    case "select":
      return stay({ ...state, module: action.module });
    case "entries":
      return stay({ ...state, start: { ...state.start, entries: action.entries } });
    case "written":
      return stay(withNotice(state, `written: ${action.path}`));
    case "notWritten":
      return stay(withNotice(state, `cannot write ${action.name}: ${action.reason}`, true));
    case "answer": {
      const view = views.find(({ name }) => name === action.view);
      return view === undefined
        ? stay(state)
        : passToView(views, state, view, { kind: "answer", answer: action.answer });
    }
    case "keep":
      return { state, commands: keepCommands(views, state) };
  }
}
