import { formatTable } from "@remat/trace/text";
import { near } from "./numbers-agree.js";
import type { GoldenText } from "./sac-golden-types.js";

interface Table {
  readonly headers: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Columns of the trade-off table that add up from row to row. */
const cumulative = [2, 3, 4, 5];

/**
 * Compares PyTorch's printed tables with remat's, line by line and cell by cell. Returns `undefined` if they agree. The
 * bytes of a table follow from its cells, which is checked by printing the golden's cells with remat's printer. Effects
 * of CPython's hashing are ignored: the order in a printed set, and of rows that upstream takes from a set, so that
 * sums are compared at the end of such a run of rows.
 */
export function compareText(golden: GoldenText, ours: string, isTabular: boolean): string | undefined {
  // If upstream raised while printing, remat continues: the part printed before must be the beginning of remat's
  // output.
  const expected = typeof golden === "string" ? golden : golden.text;
  const theirs = expected.split("\n");
  if (theirs.pop() !== "") return "the golden does not end with a line end";
  const lines = ours === "" ? [] : ours.split("\n");
  let at = 0;
  for (let i = 0; i < theirs.length; ) {
    const end = tableEnd(theirs, i, isTabular);
    if (end === i) {
      const difference = lineDifference(theirs[i], lines[at] ?? "nothing");
      if (difference !== undefined) return `line ${i + 1}: ${difference}`;
      i++;
      at++;
      continue;
    }
    const ourEnd = tableEnd(lines, at, isTabular);
    const difference = tableDifference(theirs.slice(i, end), lines.slice(at, ourEnd), isTabular);
    if (difference !== undefined) return `table at line ${i + 1}: ${difference}`;
    i = end;
    at = ourEnd;
  }
  return typeof golden === "string" && at < lines.length ? `ends, ours goes on with '${lines[at]}'` : undefined;
}

/** The line after the table that begins at `start`; `start` itself if no table begins there. */
function tableEnd(lines: readonly string[], start: number, isTabular: boolean): number {
  if (isTabular) {
    if (!/^=+(  =+)*$/.test(lines[start] ?? "")) return start;
    const rules: number[] = [];
    for (let i = start; i < lines.length && rules.length < 3; i++) if (lines[i] === lines[start]) rules.push(i);
    return rules[2] + 1;
  }
  let end = start;
  while (end < lines.length && lines[end].includes("\t")) end++;
  return end;
}

/** Lines outside tables: equal, but for the last digits of the total runtime. */
function lineDifference(expected: string, found: string): string | undefined {
  const total = /^(.*Total Runtime: )(\S+)( ms .*)$/;
  const theirs = total.exec(expected);
  const ours = total.exec(found);
  const agree =
    theirs !== null && ours !== null
      ? theirs[1] === ours[1] && near(Number(theirs[2]), Number(ours[2])) && theirs[3] === ours[3]
      : expected === found;
  return agree ? undefined : `'${expected}', ours '${found}'`;
}

function tableDifference(
  expected: readonly string[],
  found: readonly string[],
  isTabular: boolean,
): string | undefined {
  const printed = parseTable(expected, isTabular);
  const format = isTabular ? "rst" : "plain";
  const reprinted = formatTable(printed.rows, { headers: printed.headers, format }).split("\n");
  for (const [i, line] of expected.entries())
    if (line !== reprinted[i]) return `line ${i + 1} '${line}', its cells printed by us '${reprinted[i]}'`;
  const theirs = withSortedSets(printed);
  const ours = withSortedSets(parseTable(found, isTabular));
  if (theirs.headers.join() !== ours.headers.join()) return `headers ${theirs.headers}, ours ${ours.headers}`;
  if (theirs.rows.length !== ours.rows.length) return `${theirs.rows.length} rows, ours ${ours.rows.length}`;
  const isTradeOff = theirs.headers.length === 9;
  for (let start = 0; start < theirs.rows.length; ) {
    const end = isTradeOff ? runEnd(theirs.rows, start) : start + 1;
    // Within a run rows are found by their ops.
    const byOps = new Map(ours.rows.slice(start, end).map((row) => [row[0], row]));
    for (let i = start; i < end; i++) {
      const row = byOps.get(theirs.rows[i][0]);
      if (row === undefined) return `row ${i + 1} ${theirs.rows[i].join(" | ")}, ours ${ours.rows[i].join(" | ")}`;
      const sameOrder = row === ours.rows[i];
      const compared =
        sameOrder || i === end - 1 ? ours.rows[i].map((cell, c) => (cumulative.includes(c) ? cell : row[c])) : row;
      for (const [c, cell] of theirs.rows[i].entries()) {
        if (isTradeOff && cumulative.includes(c) && i < end - 1) continue;
        if (!cellsAgree(cell, compared[c], isTradeOff && c === 5))
          return `row ${i + 1}, ${theirs.headers[c]}: ${cell}, ours ${compared[c]}`;
      }
    }
    start = end;
  }
  return undefined;
}

function cellsAgree(expected: string, found: string, isTime: boolean): boolean {
  return expected === found || (isTime && near(Number(expected), Number(found)));
}

/** End of the run of rows that upstream takes from one set: those always recomputed, or always stored. */
function runEnd(rows: readonly (readonly string[])[], start: number): number {
  const kind = (row: readonly string[]): string => `${row[7]} ${row[8]}`;
  let end = start + 1;
  if (kind(rows[start]) !== "False False") while (end < rows.length && kind(rows[end]) === kind(rows[start])) end++;
  return end;
}

/** Cells of a table, without the space around them. */
function parseTable(lines: readonly string[], isTabular: boolean): Table {
  const cellsOf = isTabular ? cellsByRule(lines[0]) : (line: string) => line.split("\t").map((cell) => cell.trimEnd());
  const body = isTabular ? lines.filter((line) => line !== lines[0]) : lines;
  return { headers: cellsOf(body[0] ?? ""), rows: body.slice(1).map(cellsOf) };
}

function cellsByRule(rule: string): (line: string) => string[] {
  const spans = Array.from(rule.matchAll(/=+/g), ({ index, 0: { length } }) => [index, index + length] as const);
  return (line) => spans.map(([start, end]) => line.slice(start, end).trim());
}

function withSortedSets({ headers, rows }: Table): Table {
  return { headers, rows: rows.map((row) => row.map(sorted)) };
}

function sorted(cell: string): string {
  if (!/^\{.*\}$/.test(cell)) return cell;
  const items = cell.slice(1, -1).split(", ");
  return `{${items.sort((a, b) => (/^\d/.test(a) ? Number(a) - Number(b) : a < b ? -1 : 1)).join(", ")}}`;
}
