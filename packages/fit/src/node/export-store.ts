import { existsSync, lstatSync } from "node:fs";
import { RematError } from "@remat/trace";
import { readInputHead, replaceFile } from "@remat/trace/files";
import { readStoredFiles, requireNoLog, storedFiles } from "./read-store.js";
import { columnNames, type StoredRow, storedColumns } from "./stored-rows.js";

/** The application id "rmat" in the header of exported SQLite files, so that no other file is overwritten. */
const applicationId = 0x72_6d_61_74;
/** The offset of the application id, which is big-endian. */
const applicationIdAt = 68;

/**
 * Writes the content of a store as a SQLite file with one table, `fit`, for other programs to query. The file is
 * replaced as a whole. If other processes add to the store at the same time, the file is written again until nothing is
 * missing.
 *
 * @returns the number of rows
 * @throws RematError `FIT_STORE` for a store that cannot be read, and for an existing file that is not an export, which
 * is left unchanged
 * @example
 * await exportFitStore("fits", "fits.sqlite");
 */
export async function exportFitStore(folder: string, path: string): Promise<number> {
  for (let names = storedFiles(folder); ; ) {
    const rows = await readStoredFiles(folder, names);
    requireExport(path);
    const content = await sqliteOf(rows);
    try {
      replaceFile(path, content);
    } catch (cause) {
      throw new RematError(
        "FIT_STORE",
        `${path}: cannot be written (${(cause as Error).message}). Check the disk and permissions, or name another file with --sqlite.`,
        { cause },
      );
    }
    const now = storedFiles(folder);
    if (now.length === names.length && now.every((name, i) => name === names[i])) return rows.length;
    names = now;
  }
}

async function sqliteOf(rows: readonly StoredRow[]): Promise<Uint8Array> {
  const { default: loadSqlite } = await import("sql.js");
  const sqlite = await loadSqlite();
  const db = new sqlite.Database();
  try {
    db.run(`PRAGMA application_id = ${applicationId}; CREATE TABLE fit (${storedColumns.join(", ")}); BEGIN`);
    const insert = db.prepare(
      `INSERT INTO fit (${columnNames.join(", ")}) VALUES (${columnNames.map(() => "?").join(", ")})`,
    );
    for (const row of rows) insert.run(columnNames.map((name) => row[name] ?? null));
    insert.free();
    db.run("COMMIT");
    return db.export();
  } finally {
    db.close();
  }
}

/**
 * Rejects an existing file that is not an export, because overwriting it could lose data, such as a store of an earlier
 * release.
 */
function requireExport(path: string): void {
  if (!existsSync(path)) return;
  const header = lstatSync(path).isFile() ? readInputHead(path, applicationIdAt + 4) : Buffer.alloc(0);
  if (header.length < applicationIdAt + 4 || header.readUInt32BE(applicationIdAt) !== applicationId)
    throw new RematError(
      "FIT_STORE",
      `${path} was not written by --sqlite and would be overwritten. Name another file; move a store of an earlier release into the folder of --store.`,
    );
  requireNoLog(path);
}
