import { itemAt } from "@remat/trace";
import { type FitConfiguration, fitWayNames, type NotFitting } from "../fit-unit.js";
import { type FitSummary, type RankedRow, rankRows } from "../summarize-fit.js";

/**
 * The dimensions in which configurations differ. Strategies (ways) are last, because they are the columns of a matrix.
 */
export const fitDimensions = ["device", "optimizer", "precision", "ranks", "wrap", "way"] as const;
/** A dimension in which configurations differ, one of {@link fitDimensions}. */
export type FitDimension = (typeof fitDimensions)[number];

/** One of the values that configurations have in a dimension. */
export interface FitValue {
  readonly dimension: FitDimension;
  readonly value: string;
}

/** The result of a configuration. */
export type FitCell =
  | {
      readonly kind: "fits";
      readonly configuration: FitConfiguration;
      readonly row: RankedRow;
      readonly isBest: boolean;
    }
  | { readonly kind: "not-fitting"; readonly configuration: FitConfiguration; readonly smallest: NotFitting }
  | { readonly kind: "refused"; readonly configuration: FitConfiguration; readonly reason: string };

/**
 * The results of a search as a matrix. It has a column for each strategy (way), and a row for each combination of the
 * other choices.
 */
export interface FitMatrix {
  readonly ways: readonly string[];
  readonly rows: readonly {
    /** The values that distinguish the row from other rows, as text. */
    readonly name: string;
    /** The cells by column, or undefined if the configuration was not requested or has no answer yet. */
    readonly cells: readonly (FitCell | undefined)[];
  }[];
  /** The values of each dimension that has several values. */
  readonly values: readonly { readonly dimension: FitDimension; readonly values: readonly string[] }[];
}

/** Returns the value of a configuration in a dimension, as text for display. */
export function valueOf(configuration: FitConfiguration, dimension: FitDimension): string {
  switch (dimension) {
    case "optimizer":
      return configuration.optimizer ?? "its own optimizer";
    case "ranks":
      return configuration.ranks === 1 ? "1 rank" : `${configuration.ranks} ranks`;
    case "wrap":
      return configuration.wrap === undefined ? "usual wrap" : `wrap ${configuration.wrap.join("+") || "the root"}`;
    default:
      return configuration[dimension];
  }
}

/**
 * Returns a summary without the configurations that have one of the values in `pruned`. The best row and the front are
 * those of the remaining rows.
 *
 * @example
 * pruneFit(summary, [{ dimension: "device", value: "a100" }]).best;
 */
export function pruneFit(summary: FitSummary, pruned: readonly FitValue[]): FitSummary {
  const stays = ({ configuration }: { readonly configuration: FitConfiguration }): boolean =>
    pruned.every(({ dimension, value }) => valueOf(configuration, dimension) !== value);
  const rows = rankRows(summary.rows.filter(stays), summary.objective);
  return {
    ...summary,
    best: rows[0],
    rows,
    notFitting: summary.notFitting.filter(stays),
    refused: summary.refused.filter(stays),
  };
}

/**
 * Returns a summary as a matrix.
 *
 * @example
 * fitMatrix(summary).rows.map(({ name, cells }) => [name, cells.length]);
 */
export function fitMatrix(summary: FitSummary): FitMatrix {
  const cells = cellsOf(summary);
  const values = fitDimensions
    .map((dimension) => ({
      dimension,
      values: inOrder(dimension, [...new Set(cells.map(({ configuration }) => valueOf(configuration, dimension)))]),
    }))
    .filter((each) => each.values.length > 1);
  const named = values.map(({ dimension }) => dimension).filter((dimension) => dimension !== "way");
  const ways = fitWayNames.filter((name) => cells.some(({ configuration }) => configuration.way === name));
  const rows = new Map<string, (FitCell | undefined)[]>();
  const nameOf = ({ configuration }: FitCell): string =>
    (named.length === 0 ? (["device"] as const) : named).map((each) => valueOf(configuration, each)).join(", ");
  const placeOf = ({ configuration }: FitCell): readonly number[] =>
    named.map((each) =>
      values.find(({ dimension }) => dimension === each)!.values.indexOf(valueOf(configuration, each)),
    );
  for (const cell of [...cells].sort((a, b) => compareAll(placeOf(a), placeOf(b)))) {
    const name = nameOf(cell);
    const row = rows.get(name) ?? ways.map(() => undefined);
    row[ways.indexOf(cell.configuration.way)] = cell;
    rows.set(name, row);
  }
  return { ways, rows: [...rows].map(([name, of]) => ({ name, cells: of })), values };
}

function cellsOf({ rows, notFitting, refused, best }: FitSummary): readonly FitCell[] {
  return [
    ...rows.map((row) => ({ kind: "fits" as const, configuration: row.configuration, row, isBest: row === best })),
    ...notFitting.map(({ configuration, smallest }) => ({ kind: "not-fitting" as const, configuration, smallest })),
    ...refused.map(({ configuration, reason }) => ({ kind: "refused" as const, configuration, reason })),
  ];
}

/** Sorts counts by size and names alphabetically, so that rows keep their places while a search runs. */
function inOrder(dimension: FitDimension, values: readonly string[]): readonly string[] {
  const numberOf = (value: string): number => Number.parseInt(value, 10);
  return [...values].sort((a, b) => (dimension === "ranks" ? numberOf(a) - numberOf(b) : a < b ? -1 : Number(a > b)));
}

function compareAll(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, i) => value !== b[i]);
  return at < 0 ? 0 : itemAt(a, at) - itemAt(b, at);
}
