import type { App } from "./app.js";
import type { Prompt } from "./app-state.js";
import type { Searchable } from "./view.js";

/** Results that are listed while one types. */
export const listedMatches = 8;

/** A key while something is typed at the bottom of the screen. */
export function promptKey(app: App, key: string): void {
  const { prompt } = app.state;
  if (prompt === undefined) return;
  if (key === "esc") return cancel(app, prompt);
  if (key === "enter") return accept(app, prompt);
  if (key === "up" || key === "shift+tab") prompt.chosen = Math.max(0, prompt.chosen - 1);
  else if (key === "down" || key === "tab") prompt.chosen = Math.min(prompt.matches.length - 1, prompt.chosen + 1);
  else {
    const text = edited(prompt.text, key);
    if (text === undefined) return;
    if (key === "backspace" && prompt.text === "") return cancel(app, prompt);
    prompt.text = text;
    update(app, prompt);
  }
}

/** The next place where what was searched last occurs. */
export function repeatSearch(app: App, direction: 1 | -1): void {
  const { searched } = app.state;
  if (searched === "") return app.tell("Nothing has been searched yet. Press / to search.", "warning");
  const list = app.view.search?.(app);
  const found = list === undefined ? -1 : findFrom(list, searched, list.current + direction, direction);
  if (list === undefined || found < 0) app.tell(`nothing here has ${searched} in it`, "warning");
  else list.show(found);
}

function edited(text: string, key: string): string | undefined {
  if (key === "backspace") return [...text].slice(0, -1).join("");
  if (key === "ctrl+u") return "";
  if (key === "ctrl+w") return text.replace(/\S*\s*$/, "");
  return [...key].length === 1 ? text + key : undefined;
}

function update(app: App, prompt: Prompt): void {
  if (prompt.kind === "filter") {
    app.state.ops = { ...app.state.ops, filter: prompt.text, cursor: 0, top: 0 };
    return;
  }
  if (prompt.kind !== "search") return;
  const list = app.view.search?.(app);
  const found = list === undefined || prompt.text === "" ? [] : findAll(list, prompt.text);
  prompt.total = found.length;
  prompt.chosen = 0;
  // From the cursor on, as the next-match key goes.
  const first = list === undefined ? 0 : found.findIndex((index) => index >= list.current);
  prompt.matches = [...found.slice(Math.max(0, first)), ...found.slice(0, Math.max(0, first))].slice(0, 100);
}

function accept(app: App, prompt: Prompt): void {
  app.state.prompt = undefined;
  if (prompt.kind === "open") {
    const target = prompt.text.trim();
    if (target !== "") void app.open(target);
  } else if (prompt.kind === "search") {
    app.state.searched = prompt.text;
    const index = prompt.matches[prompt.chosen];
    if (index !== undefined) app.view.search?.(app)?.show(index);
    else if (prompt.text !== "") app.tell(`nothing here has ${prompt.text} in it`, "warning");
  }
}

function cancel(app: App, prompt: Prompt): void {
  app.state.prompt = undefined;
  if (prompt.kind === "filter") app.state.ops = { ...app.state.ops, filter: "", cursor: 0, top: 0 };
}

function findAll(list: Searchable, wanted: string): readonly number[] {
  const lower = wanted.toLowerCase();
  const found: number[] = [];
  for (let index = 0; index < list.count; index++)
    if (list.text(index).toLowerCase().includes(lower)) found.push(index);
  return found;
}

/** From `start` on in one direction and round again; -1 where it is nowhere. */
function findFrom(list: Searchable, wanted: string, start: number, direction: 1 | -1): number {
  const lower = wanted.toLowerCase();
  for (let i = 0; i < list.count; i++) {
    const index = (((start + direction * i) % list.count) + list.count) % list.count;
    if (list.text(index).toLowerCase().includes(lower)) return index;
  }
  return -1;
}
