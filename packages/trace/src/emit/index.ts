export { type CsvCell, writeCsv } from "./csv.js";
export { displaySafe, displaySafeLines, writeOut } from "./display-safe.js";
export type {
  CsvText,
  Emitted,
  JavaScriptCode,
  JsonText,
  MarkdownText,
  PythonCode,
  ShellCode,
  TerminalText,
} from "./emitted.js";
export { Html, type HtmlBuilder, type HtmlHole, html } from "./html.js";
export { type JavaScriptBuilder, type JavaScriptHole, javascript } from "./javascript.js";
export { type JsonBuilder, json } from "./json.js";
export { markdown } from "./markdown.js";
export { type PythonBuilder, type PythonHole, python } from "./python.js";
export { type ShellBuilder, type ShellHole, shell } from "./shell.js";
export { type TerminalBuilder, type TerminalStyle, terminal } from "./terminal.js";
