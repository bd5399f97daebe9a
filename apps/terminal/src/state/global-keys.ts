import { exportKeys } from "./export-keys.js";
import type { KeyBinding } from "./key-binding.js";
import type { Motion } from "./motion.js";
import type { View } from "./view.js";

const exportTitles = exportKeys.map(({ title }) => title);

/** Actions of keys in every view. */
export type GlobalAction =
  | "showView"
  | "nextView"
  | "previousView"
  | Motion
  | "enter"
  | "back"
  | "search"
  | "nextMatch"
  | "previousMatch"
  | "export"
  | "copy"
  | "open"
  | "theme"
  | "redraw"
  | "suspend"
  | "help"
  | "quit";

/** Returns the keys that select and step through views. The bottom line shows them before the view's own. */
export function walkingKeys(views: readonly View[]): readonly KeyBinding<GlobalAction>[] {
  return [
    {
      // The tenth has 0, as on a keyboard.
      keys: views.slice(0, 10).map((_view, index) => String((index + 1) % 10)),
      action: "showView",
      help: `show a view: ${views.map(({ title }) => title.toLowerCase()).join(", ")}`,
    },
    { keys: ["tab"], action: "nextView", help: "next view", hint: "view" },
    { keys: ["shift+tab"], action: "previousView", help: "previous view" },
    { keys: ["up", "k"], action: "up", help: "one row up" },
    { keys: ["down", "j"], action: "down", help: "one row down" },
    { keys: ["pageup", "ctrl+b"], action: "pageUp", help: "one page up" },
    { keys: ["pagedown", "ctrl+f", " "], action: "pageDown", help: "one page down" },
    { keys: ["home", "g"], action: "top", help: "to the first row" },
    { keys: ["end", "G"], action: "bottom", help: "to the last row" },
  ];
}

/** The keys that are the same in every view. The bottom line shows them after the view's own. */
export const commonKeys: readonly KeyBinding<GlobalAction>[] = [
  { keys: ["enter"], action: "enter", help: "drill in: module, ops, one op, live tensors at the cursor" },
  { keys: ["esc", "backspace"], action: "back", help: "go back, or cancel the current work" },
  { keys: ["/"], action: "search", help: "search, with results as you type", hint: "search" },
  { keys: ["n"], action: "nextMatch", help: "next match" },
  { keys: ["N"], action: "previousMatch", help: "previous match" },
  {
    keys: ["e"],
    action: "export",
    help: `export the view as ${exportTitles.slice(0, -1).join(", ")} or ${exportTitles.at(-1)}`,
    hint: "export",
  },
  { keys: ["y"], action: "copy", help: "copy the selected name to the clipboard" },
  { keys: ["O"], action: "open", help: "open another model, trace or plan" },
  { keys: ["t"], action: "theme", help: "switch colours for a dark or a light background" },
  { keys: ["ctrl+l"], action: "redraw", help: "redraw the screen" },
  { keys: ["ctrl+z"], action: "suspend", help: "suspend to the shell (fg resumes)" },
  { keys: ["?"], action: "help", help: "show these keys", hint: "help" },
  { keys: ["q", "ctrl+c"], action: "quit", help: "quit", hint: "quit" },
];

/** Returns all keys that are not a view's own. */
export function globalKeys(views: readonly View[]): readonly KeyBinding<GlobalAction>[] {
  return [...walkingKeys(views), ...commonKeys];
}
