import type { Step } from "../state/action.js";
import type { AppState, Prompt } from "../state/app-state.js";
import type { Searchable, View } from "../state/view.js";
import { beginOpening } from "./reduce-opening.js";
import { passToShownView, searchableOf } from "./reduce-view.js";
import { stay, withNotice } from "./step.js";

/** Number of results that can be browsed while typing. */
const keptMatches = 100;

/** Handles a key while text is typed at the bottom of the screen. */
export function promptKey(views: readonly View[], state: AppState, prompt: Prompt, key: string): Step {
  if (key === "esc" || (key === "backspace" && prompt.text === "")) return cancel(views, state, prompt);
  if (key === "enter") return accept(views, state, prompt);
  const step = stepOf(key);
  if (step !== undefined) {
    if (prompt.kind !== "search") return stay(state);
    const chosen = Math.max(0, Math.min(prompt.matches.length - 1, prompt.chosen + step));
    return stay({ ...state, prompt: { ...prompt, chosen } });
  }
  const text = edited(prompt.text, key);
  return text === undefined ? stay(state) : type(views, state, prompt, text);
}

/** Goes to the next match of the last search. */
export function repeatSearch(views: readonly View[], state: AppState, direction: 1 | -1): Step {
  const { searched } = state;
  if (searched === "") return stay(withNotice(state, "Press / to search first.", true));
  const list = searchableOf(views, state);
  const found = list === undefined ? -1 : findFrom(list, searched, list.current + direction, direction);
  if (found < 0) return stay(withNotice(state, `no match for ${searched}`, true));
  return passToShownView(views, state, { kind: "choose", index: found });
}

function stepOf(key: string): 1 | -1 | undefined {
  if (key === "up" || key === "shift+tab") return -1;
  return key === "down" || key === "tab" ? 1 : undefined;
}

function edited(text: string, key: string): string | undefined {
  if (key === "backspace") return [...text].slice(0, -1).join("");
  if (key === "ctrl+u") return "";
  if (key === "ctrl+w") return text.trimEnd().replace(/(?<!\S)\S+$/, "");
  return [...key].length === 1 ? text + key : undefined;
}

function type(views: readonly View[], state: AppState, prompt: Prompt, text: string): Step {
  switch (prompt.kind) {
    case "open":
      return stay({ ...state, prompt: { ...prompt, text } });
    case "ask":
      return passToShownView(views, { ...state, prompt: { ...prompt, text } }, { kind: "typed", text });
    case "search": {
      const list = searchableOf(views, state);
      const found = list === undefined || text === "" ? [] : findAll(list, text);
      // From the cursor on, as the next-match key does.
      const first = Math.max(
        0,
        found.findIndex((index) => index >= (list?.current ?? 0)),
      );
      const matches = [...found.slice(first), ...found.slice(0, first)].slice(0, keptMatches);
      return stay({ ...state, prompt: { kind: "search", text, matches, chosen: 0, total: found.length } });
    }
  }
}

function accept(views: readonly View[], before: AppState, prompt: Prompt): Step {
  const state = { ...before, prompt: undefined };
  switch (prompt.kind) {
    case "open": {
      const target = prompt.text.trim();
      return target === "" ? stay(state) : beginOpening(state, [target]);
    }
    case "ask":
      return passToShownView(views, state, { kind: "accepted", text: prompt.text });
    case "search": {
      const { text, matches, chosen } = prompt;
      const searched = { ...state, searched: text };
      const index = matches[chosen];
      if (index !== undefined) return passToShownView(views, searched, { kind: "choose", index });
      return stay(text === "" ? searched : withNotice(searched, `no match for ${text}`, true));
    }
  }
}

function cancel(views: readonly View[], before: AppState, prompt: Prompt): Step {
  const state = { ...before, prompt: undefined };
  return prompt.kind === "ask" ? passToShownView(views, state, { kind: "typed", text: "" }) : stay(state);
}

function findAll(list: Searchable, wanted: string): readonly number[] {
  const lower = wanted.toLowerCase();
  const found: number[] = [];
  for (let index = 0; index < list.count; index++)
    if (list.text(index).toLowerCase().includes(lower)) found.push(index);
  return found;
}

/** Searches from `start` in one direction, wrapping around. Returns -1 if there is no match. */
function findFrom(list: Searchable, wanted: string, start: number, direction: 1 | -1): number {
  const lower = wanted.toLowerCase();
  for (let i = 0; i < list.count; i++) {
    const index = (((start + direction * i) % list.count) + list.count) % list.count;
    if (list.text(index).toLowerCase().includes(lower)) return index;
  }
  return -1;
}
