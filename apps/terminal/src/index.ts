export type { Opened, OpenOptions, OpenTarget, StartEntry } from "./app/host.js";
export { type ActionName, type KeyBinding, keyMap, type ViewName, viewNames } from "./app/key-map.js";
export { type PrintOptions, printView } from "./app/print-view.js";
export type { TerminalOptions } from "./app/run-terminal.js";
export { startTerminal } from "./start-terminal.js";
export type { ColourDepth, ThemeName } from "./text/theme.js";
