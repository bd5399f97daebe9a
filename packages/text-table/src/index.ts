export type { Cell } from "./column-type.js";
export { displaySafe, writeOut } from "./display-safe.js";
export { formatTable, type TableFormat, type TableOptions } from "./format-table.js";
export { pythonFixed, pythonFloat, pythonGeneral, pythonScientific } from "./python-number.js";
