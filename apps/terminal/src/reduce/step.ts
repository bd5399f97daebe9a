import type { Step } from "../state/action.js";
import type { AppState } from "../state/app-state.js";
import type { Command } from "../state/command.js";

/** Returns a step without commands. */
export function stay(state: AppState): Step {
  return { state, commands: [] };
}

/** Returns a step with commands to run. */
export function run(state: AppState, ...commands: readonly Command[]): Step {
  return { state, commands };
}

/** Returns the state with a message at the bottom of the screen until the next key. */
export function withNotice(state: AppState, text: string, isWarning = false): AppState {
  return { ...state, notice: { text, kind: isWarning ? "warning" : "info" } };
}
