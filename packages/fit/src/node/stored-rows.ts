import { itemAt } from "@remat/trace";
import * as v from "valibot";
import type { FitConfiguration } from "../fit-unit.js";
import type { FitSummary } from "../summarize-fit.js";

/** The time and label that identify a search in a store. */
export interface StoredSearch {
  /** The time at which the search ended, in ISO 8601. */
  readonly at: string;
  /** A name for this search, such as a commit. Default: empty. */
  readonly label?: string | undefined;
}

/**
 * The columns of a store, as SQLite declares them.
 *
 * @internal
 */
export const storedColumns = [
  "at TEXT NOT NULL",
  "label TEXT NOT NULL",
  "model TEXT NOT NULL",
  "objective TEXT NOT NULL",
  "device TEXT NOT NULL",
  "optimizer TEXT",
  "precision TEXT NOT NULL",
  "way TEXT NOT NULL",
  "ranks INTEGER NOT NULL",
  "wrap TEXT",
  "outcome TEXT NOT NULL",
  "reason TEXT",
  "batch INTEGER",
  "micro_batches INTEGER",
  "peak_bytes INTEGER",
  "memory_bytes INTEGER",
  "step_ms REAL",
  "samples_per_second REAL",
  "overhead REAL",
  "gap REAL",
  "cost_per_million REAL",
  "is_on_front INTEGER",
  "is_best INTEGER",
] as const;

/**
 * The names of the columns, in order.
 *
 * @internal
 */
export const columnNames: readonly string[] = storedColumns.map((column) => itemAt(column.split(" ", 1), 0));

/** One row of a store, by column names: one configuration of one search. */
export type StoredRow = Readonly<Record<string, string | number | null | undefined>>;

const valueSchemas = {
  TEXT: v.string(),
  INTEGER: v.pipe(v.number(), v.safeInteger()),
  REAL: v.pipe(v.number(), v.finite()),
};

/**
 * A valid row of a store, with these columns and no others.
 *
 * @internal
 */
export const storedRowSchema: v.GenericSchema = v.strictObject(
  Object.fromEntries(
    storedColumns.map((column) => {
      const [name, type, ...rest] = column.split(" ") as [string, keyof typeof valueSchemas, ...string[]];
      return [name, rest.length > 0 ? valueSchemas[type] : v.nullish(valueSchemas[type])];
    }),
  ),
);

/**
 * Returns the rows of a search: configurations that fit, that do not fit, and that are impossible.
 *
 * @internal
 */
export function storedRows(
  { model, objective, best, rows, notFitting, refused }: FitSummary,
  { at, label = "" }: StoredSearch,
): readonly StoredRow[] {
  const of = ({ device, optimizer, precision, way, ranks, wrap }: FitConfiguration, outcome: string): StoredRow => ({
    ...{ at, label, model, objective, device, optimizer, precision, way, ranks, outcome },
    ...(wrap !== undefined && { wrap: wrap.join("+") }),
  });
  return [
    ...rows.map((row) => ({
      ...of(row.configuration, "fits"),
      batch: row.batch,
      micro_batches: row.microBatches,
      peak_bytes: row.peakBytes,
      memory_bytes: row.memoryBytes,
      step_ms: row.stepMs,
      samples_per_second: row.samplesPerSecond,
      overhead: row.overhead,
      gap: row.gap,
      cost_per_million: row.costPerMillion,
      is_on_front: Number(row.isOnFront),
      is_best: Number(row === best),
    })),
    ...notFitting.map(({ configuration, memoryBytes, smallest }) => ({
      ...of(configuration, "does not fit"),
      reason: smallest.binds,
      batch: smallest.batch,
      peak_bytes: smallest.peakBytes,
      memory_bytes: memoryBytes,
    })),
    ...refused.map(({ configuration, reason }) => ({ ...of(configuration, "refused"), reason })),
  ];
}
