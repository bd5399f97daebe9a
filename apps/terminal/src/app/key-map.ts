/** The six views, in the order of their keys. */
export const viewNames = ["modules", "ops", "tradeOff", "memory", "compare", "devices"] as const;
export type ViewName = (typeof viewNames)[number];

/** What a key can do. */
export type ActionName =
  | "showView"
  | "nextView"
  | "previousView"
  | "up"
  | "down"
  | "pageUp"
  | "pageDown"
  | "top"
  | "bottom"
  | "left"
  | "right"
  | "farLeft"
  | "farRight"
  | "enter"
  | "back"
  | "expandAll"
  | "collapseAll"
  | "deeper"
  | "shallower"
  | "sortNext"
  | "sortPrevious"
  | "reverse"
  | "filter"
  | "wholeStep"
  | "optimum"
  | "zoomIn"
  | "zoomOut"
  | "peak"
  | "bands"
  | "plan"
  | "savePlan"
  | "search"
  | "nextMatch"
  | "previousMatch"
  | "help"
  | "export"
  | "copy"
  | "theme"
  | "open"
  | "redraw"
  | "suspend"
  | "quit";

/** One row of the key map. */
export interface KeyBinding {
  /** As `keysOf` names them: a character, or `up`, `enter`, `ctrl+c`. */
  readonly keys: readonly string[];
  readonly action: ActionName;
  /** What it does, in the help. */
  readonly help: string;
  /** Where; left out: everywhere. */
  readonly views?: readonly ViewName[];
  /** What the line at the bottom calls it; left out: it is not there. */
  readonly hint?: string;
  /** How that line writes the keys; left out: the first of them. */
  readonly hintKeys?: string;
}

/** Every key that the app knows. Help and hints are made from this table. */
export const keyMap: readonly KeyBinding[] = [
  {
    keys: ["1", "2", "3", "4", "5", "6"],
    action: "showView",
    help: "show a view: modules, ops, trade-off, memory, compare, devices and plan",
  },
  { keys: ["tab"], action: "nextView", help: "next view", hint: "view" },
  { keys: ["shift+tab"], action: "previousView", help: "previous view" },

  { keys: ["up", "k"], action: "up", help: "one row up" },
  { keys: ["down", "j"], action: "down", help: "one row down" },
  { keys: ["pageup", "ctrl+b"], action: "pageUp", help: "one page up" },
  { keys: ["pagedown", "ctrl+f", " "], action: "pageDown", help: "one page down" },
  { keys: ["home", "g"], action: "top", help: "to the first row" },
  { keys: ["end", "G"], action: "bottom", help: "to the last row" },

  { keys: ["right", "l"], action: "right", help: "expand the module", views: ["modules"] },
  { keys: ["left", "h"], action: "left", help: "collapse it, or go to the module around it", views: ["modules"] },
  { keys: ["*"], action: "expandAll", help: "expand all", views: ["modules"] },
  { keys: ["-"], action: "collapseAll", help: "collapse all", views: ["modules"] },
  {
    keys: ["]"],
    action: "deeper",
    help: "show one level more everywhere",
    views: ["modules"],
    hint: "levels",
    hintKeys: "[ ]",
  },
  { keys: ["["], action: "shallower", help: "show one level less everywhere", views: ["modules"] },
  {
    keys: ["s"],
    action: "sortNext",
    help: "sort by the next column",
    views: ["modules", "ops", "compare"],
    hint: "sort",
  },
  { keys: ["S"], action: "sortPrevious", help: "sort by the column before", views: ["modules", "ops", "compare"] },
  { keys: ["r"], action: "reverse", help: "sort the other way round", views: ["modules", "ops", "compare"] },
  {
    keys: ["f"],
    action: "filter",
    help: "show only ops whose name or module has a text in it",
    views: ["ops"],
    hint: "filter",
  },
  { keys: ["a"], action: "wholeStep", help: "all ops of the step, or those of the module", views: ["ops"] },

  {
    keys: ["left", "h"],
    action: "left",
    help: "a smaller budget, by 1 %",
    views: ["tradeOff"],
    hint: "budget",
    hintKeys: "Left Right",
  },
  { keys: ["right", "l"], action: "right", help: "a larger budget, by 1 %", views: ["tradeOff"] },
  { keys: ["shift+left", "H", "<"], action: "farLeft", help: "a smaller budget, by 10 %", views: ["tradeOff"] },
  { keys: ["shift+right", "L", ">"], action: "farRight", help: "a larger budget, by 10 %", views: ["tradeOff"] },
  {
    keys: ["o"],
    action: "optimum",
    help: "the greedy policy, or the optimal one",
    views: ["tradeOff"],
    hint: "optimal",
  },

  {
    keys: ["left", "h"],
    action: "left",
    help: "move the cursor back",
    views: ["memory"],
    hint: "cursor",
    hintKeys: "Left Right",
  },
  { keys: ["right", "l"], action: "right", help: "move the cursor on", views: ["memory"] },
  { keys: ["shift+left", "H", "<"], action: "farLeft", help: "back by a tenth of what is shown", views: ["memory"] },
  { keys: ["shift+right", "L", ">"], action: "farRight", help: "on by a tenth of what is shown", views: ["memory"] },
  {
    keys: ["+", "="],
    action: "zoomIn",
    help: "zoom in around the cursor",
    views: ["memory"],
    hint: "zoom",
    hintKeys: "+ -",
  },
  { keys: ["-"], action: "zoomOut", help: "zoom out", views: ["memory"] },
  { keys: ["p"], action: "peak", help: "to the peak", views: ["memory"], hint: "peak" },
  {
    keys: ["b"],
    action: "bands",
    help: "bands by category, or by the module that made what is held",
    views: ["memory"],
  },

  {
    keys: ["left", "h"],
    action: "left",
    help: "the value before",
    views: ["devices"],
    hint: "change",
    hintKeys: "Left Right",
  },
  { keys: ["right", "l"], action: "right", help: "the next value", views: ["devices"] },
  {
    keys: ["p"],
    action: "plan",
    help: "plan the whole step for the budget; Esc cancels",
    views: ["devices"],
    hint: "plan",
  },
  { keys: ["w"], action: "savePlan", help: "write the plan to a file", views: ["devices"], hint: "write plan" },

  { keys: ["enter"], action: "enter", help: "drill in: module, ops, one op; what is at the cursor" },
  { keys: ["esc", "backspace"], action: "back", help: "back; cancels what is under way" },
  { keys: ["/"], action: "search", help: "search, with results as you type", hint: "search" },
  { keys: ["n"], action: "nextMatch", help: "next match" },
  { keys: ["N"], action: "previousMatch", help: "previous match" },
  { keys: ["e"], action: "export", help: "export the view as CSV, JSON or Markdown", hint: "export" },
  { keys: ["y"], action: "copy", help: "copy the name of what is at the cursor to the clipboard" },
  { keys: ["O"], action: "open", help: "open another model, trace or plan" },
  { keys: ["t"], action: "theme", help: "colours for a dark or a light background" },
  { keys: ["ctrl+l"], action: "redraw", help: "draw the screen anew" },
  { keys: ["ctrl+z"], action: "suspend", help: "to the shell; fg comes back" },
  { keys: ["?"], action: "help", help: "these keys", hint: "help" },
  { keys: ["q", "ctrl+c"], action: "quit", help: "quit", hint: "quit" },
];

/** What a key does in a view. */
export function bindingOf(key: string, view: ViewName): KeyBinding | undefined {
  return keyMap.find(({ keys, views }) => keys.includes(key) && (views === undefined || views.includes(view)));
}

/** How a key is written for people. */
export function keyLabel(key: string): string {
  const names: Readonly<Record<string, string>> = {
    " ": "Space",
    up: "Up",
    down: "Down",
    left: "Left",
    right: "Right",
    "shift+left": "Shift-Left",
    "shift+right": "Shift-Right",
    "shift+tab": "Shift-Tab",
    tab: "Tab",
    enter: "Enter",
    esc: "Esc",
    backspace: "Backspace",
    pageup: "PgUp",
    pagedown: "PgDn",
    home: "Home",
    end: "End",
  };
  return names[key] ?? key.replace(/^ctrl\+(.)$/, (_all, letter: string) => `Ctrl-${letter.toUpperCase()}`);
}
