/** Types of columns from the least to the most general, in the order of Python's `tabulate`. */
export const ColumnType = { none: 0, bool: 1, int: 2, float: 3, text: 5 } as const;

/** A table cell. Whole numbers count as integers. Null and undefined are empty. */
export type Cell = string | number | null | undefined;

const integer = /^\s*[+-]?\d+(?:_\d+)*\s*$/;
const decimal = /^\s*[+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:[eE][+-]?\d+(?:_\d+)*)?\s*$/;
const withThousandsSeparators = /^(?:[+-]?[0-9]{1,3}(?:,[0-9]{3})*(?:\.[0-9]*)?|(?:\.[0-9]+)?)\n?$/;
const namedFloats: Readonly<Record<string, number>> = { inf: Infinity, "-inf": -Infinity, nan: Number.NaN };

export function isInteger(text: string): boolean {
  return integer.test(text);
}

/**
 * Returns whether tabulate reads `text` as a number: a text that Python's `float` accepts and that does not overflow,
 * or digits grouped by commas.
 */
export function isNumber(text: string): boolean {
  return parseFloatOf(text) !== undefined || withThousandsSeparators.test(text);
}

/**
 * Returns the number that Python's `float` reads from `text`, or undefined if tabulate would not read `text` as a
 * number.
 */
function parseFloatOf(text: string): number | undefined {
  const named = namedFloats[text.toLowerCase()];
  if (named !== undefined) return named;
  if (!decimal.test(text)) return undefined;
  const value = Number(text.replaceAll("_", ""));
  return Number.isFinite(value) ? value : undefined;
}

/** Returns the number in a cell of a float column, or undefined if Python's `float` does not accept it. */
export function numberIn(text: string): number | undefined {
  const plain = text.replaceAll(",", "");
  const named = /^\s*([+-]?)(inf|infinity|nan)\s*$/i.exec(plain);
  if (named !== null) {
    if (named[2].toLowerCase() === "nan") return Number.NaN;
    return named[1] === "-" ? -Infinity : Infinity;
  }
  return decimal.test(plain) ? Number(plain.replaceAll("_", "")) : undefined;
}

function typeOf(cell: Cell): number {
  if (cell === null || cell === undefined || cell === "") return ColumnType.none;
  if (typeof cell === "number") return Number.isInteger(cell) ? ColumnType.int : ColumnType.float;
  if (cell === "True" || cell === "False") return ColumnType.bool;
  if (isInteger(cell) || (withThousandsSeparators.test(cell) && !cell.includes("."))) return ColumnType.int;
  return isNumber(cell) ? ColumnType.float : ColumnType.text;
}

/** Returns the least general type that fits every cell. */
export function columnType(cells: readonly Cell[]): number {
  let type: number = ColumnType.bool;
  for (const cell of cells) type = Math.max(type, typeOf(cell));
  return type;
}
