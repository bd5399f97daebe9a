import { existsSync, readFileSync } from "node:fs";
import { replaceFile } from "@remat/output-file";
import { RematError } from "@remat/trace";
import type { SqlValue } from "sql.js";
import type { FitConfiguration } from "../fit-unit.js";
import type { FitSummary } from "../summarize-fit.js";

/** What rows of a store are asked for by, besides what was found. */
export interface StoredSearch {
  /** When, as ISO 8601. */
  readonly at: string;
  /** Whatever tells this search from others, such as a commit; left out: nothing. */
  readonly label?: string;
}

const columns = [
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

type Stored = Readonly<Record<string, SqlValue | undefined>>;

/**
 * Adds what a search found to a SQLite file, a row of the table `fit` for each configuration: one that fits, one that does not, one that cannot be. The file is made where there is none, and
 * written as a whole.
 *
 * @throws RematError `FIT_STORE` for a file that is no SQLite database, or whose table `fit` is another one
 * @example
 * await storeFit("fits.sqlite", summary, { at: new Date().toISOString(), label: "main" });
 */
export async function storeFit(path: string, summary: FitSummary, search: StoredSearch): Promise<void> {
  const { default: loadSqlite } = await import("sql.js");
  const sqlite = await loadSqlite();
  const db = new sqlite.Database(existsSync(path) ? readFileSync(path) : undefined);
  try {
    db.run(`CREATE TABLE IF NOT EXISTS fit (${columns.join(", ")})`);
    const names = columns.map((column) => column.split(" ", 1)[0]);
    const insert = db.prepare(`INSERT INTO fit (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`);
    for (const row of storedRows(summary, search)) insert.run(names.map((name) => row[name] ?? null));
    insert.free();
    replaceFile(path, db.export());
  } catch (cause) {
    if (cause instanceof RematError) throw cause;
    throw new RematError(
      "FIT_STORE",
      `${path}: ${(cause as Error).message}. Expected a SQLite file that remat fit --store wrote, or none.`,
      { cause },
    );
  } finally {
    db.close();
  }
}

function storedRows(
  { model, objective, best, rows, notFitting, refused }: FitSummary,
  { at, label = "" }: StoredSearch,
): readonly Stored[] {
  const of = ({ device, optimizer, precision, way, ranks, wrap }: FitConfiguration, outcome: string): Stored => ({
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
