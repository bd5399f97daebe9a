export type { OpenOptions, OpenTarget } from "./app/host.js";
export { type PrintOptions, printView } from "./app/print-view.js";
export type { TerminalOptions } from "./app/run-terminal.js";
export { startTerminal } from "./start-terminal.js";
export type { KeyBinding } from "./state/key-binding.js";
export type { Opened, StartEntry } from "./state/opened.js";
export type { ColourDepth, ThemeName } from "./text/theme.js";
export { keyMap, type ViewKeyBinding } from "./views/key-map.js";
export { type ViewName, viewNames } from "./views/views.js";
