import {
  describeBest,
  describeConfiguration,
  describeNext,
  type FitCell,
  type FitMatrix,
  type FitSummary,
  type FitValue,
  fitMatrix,
  formatRate,
  pruneFit,
  valueOf,
} from "@remat/fit";
import { displaySafe } from "@remat/trace/text";

/** Cursor position in a matrix, and the values excluded from it. */
export interface MatrixState {
  readonly row: number;
  readonly column: number;
  /** Index of the selected dimension among those with several values. Keys exclude its values. */
  readonly dimension: number;
  /** Values excluded by each action, for undo. */
  readonly pruned: readonly (readonly FitValue[])[];
}

export const firstMatrixState: MatrixState = { row: 0, column: 0, dimension: 0, pruned: [] };

/** Key bindings, as shown on the screen. */
const help = "arrows: move · Tab: dimension · x: hide it · o: hide all others · u: undo · Enter: done";

/** Returns a summary without the excluded values. */
export function leftIn(summary: FitSummary, { pruned }: MatrixState): FitSummary {
  return pruneFit(summary, pruned.flat());
}

/** Returns the state after a key press. Undefined at the end. */
export function pressKey(summary: FitSummary, state: MatrixState, key: string): MatrixState | undefined {
  const matrix = fitMatrix(leftIn(summary, state));
  const { row, column, dimension, pruned } = state;
  const settled = (next: MatrixState): MatrixState => {
    const { rows, ways, values } = fitMatrix(leftIn(summary, next));
    const within = (at: number, count: number): number => Math.max(0, Math.min(count - 1, at));
    return {
      ...next,
      row: within(next.row, rows.length),
      column: within(next.column, ways.length),
      dimension: within(next.dimension, values.length),
    };
  };
  switch (key) {
    case "up":
      return settled({ ...state, row: row - 1 });
    case "down":
      return settled({ ...state, row: row + 1 });
    case "left":
      return settled({ ...state, column: column - 1 });
    case "right":
      return settled({ ...state, column: column + 1 });
    case "tab":
      return settled({ ...state, dimension: matrix.values.length === 0 ? 0 : (dimension + 1) % matrix.values.length });
    case "u":
      return settled({ ...state, pruned: pruned.slice(0, -1) });
    case "x":
    case "o": {
      const chosen = chosenValue(matrix, state);
      if (chosen === undefined) return state;
      const { values } = matrix.values[dimension];
      const out = values.filter((value) => (value === chosen.value) === (key === "x"));
      return settled({ ...state, pruned: [...pruned, out.map((value) => ({ ...chosen, value }))] });
    }
    case "enter":
    case "esc":
    case "q":
      return undefined;
    default:
      return state;
  }
}

function cellAt({ rows }: FitMatrix, { row, column }: MatrixState): FitCell | undefined {
  return rows[row]?.cells[column];
}

/** The value of the cell at the cursor in the selected dimension. */
function chosenValue(matrix: FitMatrix, state: MatrixState): FitValue | undefined {
  const cell = cellAt(matrix, state);
  const of = matrix.values[state.dimension];
  if (cell === undefined || of === undefined) return undefined;
  return { dimension: of.dimension, value: valueOf(cell.configuration, of.dimension) };
}

const cellWidth = 18;

/**
 * Returns the lines of the screen: the best row, the matrix around the cursor, and details of the cell at the cursor.
 */
export function drawMatrix(
  summary: FitSummary,
  state: MatrixState,
  { columns, rows: height }: { readonly columns: number; readonly rows: number },
): readonly string[] {
  const left = leftIn(summary, state);
  const matrix = fitMatrix(left);
  const { rows, ways, values } = matrix;
  const fitted = (text: string): string => text.slice(0, columns);
  const nameWidth = Math.min(
    Math.max(12, columns - cellWidth - 2),
    Math.max(...rows.map(({ name }) => displaySafe(name).length), 0) + 2,
  );
  const shownWays = windowOf(ways.length, state.column, Math.max(1, Math.floor((columns - nameWidth) / cellWidth)));
  const shownRows = windowOf(rows.length, state.row, Math.max(1, height - 9));
  const chosen = chosenValue(matrix, state);
  const name = (text: string): string => text.slice(0, nameWidth - 1).padEnd(nameWidth);
  return [
    fitted(
      displaySafe(
        `${left.model}: ${left.best === undefined ? "nothing in the selection fits" : describeBest(left.best, left)}`,
      ),
    ),
    "",
    name("") + shownWays.map((at) => ` ${ways[at]}`.padEnd(cellWidth)).join(""),
    ...shownRows.map(
      (row) =>
        name(displaySafe(rows[row].name)) +
        shownWays
          .map((column) => {
            const text = cellText(rows[row].cells[column], left)
              .slice(0, cellWidth - 1)
              .padEnd(cellWidth - 1);
            return `${row === state.row && column === state.column ? `\u001b[7m${text}\u001b[27m` : text} `;
          })
          .join(""),
    ),
    ...(shownRows.length < rows.length
      ? [fitted(`rows ${shownRows[0] + 1} to ${shownRows.at(-1)! + 1} of ${rows.length}`)]
      : []),
    "",
    fitted(displaySafe(describeCell(cellAt(matrix, state), left))),
    fitted(
      displaySafe(
        [
          ...(chosen === undefined ? [] : [`${chosen.dimension}: ${chosen.value}`]),
          ...(values.length < 2 ? [] : [`Tab: ${values.map(({ dimension }) => dimension).join(", ")}`]),
          `hidden: ${
            state.pruned
              .flat()
              .map(({ value }) => value)
              .join(", ") || "nothing"
          }`,
        ].join(" · "),
      ),
    ),
    fitted(help),
    fitted("> best   * on the Pareto front   batch, samples/s"),
  ];
}

/** Range of places around the cursor that is visible. */
function windowOf(count: number, at: number, room: number): readonly number[] {
  const from = Math.max(0, Math.min(count - room, at - (room >> 1)));
  return Array.from({ length: Math.min(room, count - from) }, (_, i) => from + i);
}

function cellText(cell: FitCell | undefined, summary: FitSummary): string {
  if (cell === undefined) return "";
  if (cell.kind === "refused") return " unsupported";
  if (cell.kind === "not-fitting") return " does not fit";
  const { row, isBest } = cell;
  const passes = row.microBatches > 1 ? `×${row.microBatches}` : "";
  const rate = row.samplesPerSecond === undefined ? "" : ` ${formatRate(row.samplesPerSecond, summary)}/s`;
  return `${isBest ? ">" : row.isOnFront ? "*" : " "}${row.batch}${passes}${rate}`;
}

function describeCell(cell: FitCell | undefined, summary: FitSummary): string {
  if (cell === undefined) return "not tried";
  if (cell.kind === "fits")
    return (
      describeBest(cell.row, summary) + (cell.row.next === undefined ? "" : `; next ${describeNext(cell.row.next)}`)
    );
  return `${describeConfiguration(cell.configuration)}: ${cell.kind === "refused" ? cell.reason : `does not fit: ${describeNext(cell.smallest)}`}`;
}
