import { existsSync, readFileSync } from "node:fs";
import { replaceFile } from "@remat/output-file";
import { RematError } from "@remat/trace";
import type { FitSummary } from "../summarize-fit.js";
import { type StoredSearch, storedColumns, storedRows } from "./stored-rows.js";

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
    db.run(`CREATE TABLE IF NOT EXISTS fit (${storedColumns.join(", ")})`);
    const names = storedColumns.map((column) => column.split(" ", 1)[0]);
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
