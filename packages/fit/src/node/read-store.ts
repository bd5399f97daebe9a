import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parseJsonText, RematError } from "@remat/trace";
import { readInput } from "@remat/trace/files";
import { checkSchema } from "./check-schema.js";
import { contentMark } from "./fit-store.js";
import { columnNames, type StoredRow, storedRowSchema } from "./stored-rows.js";

/** The size limit of a file. No search writes hundreds of megabytes, so a larger file is something else. */
const mostBytes = 256 * 2 ** 20;

/** Names from `storeFit`: the time, a hash of the content, and a number if that name was taken. */
const ownName = /-([0-9a-f]{16})(?:-\d+)?\.jsonl$/;

/** Files that searches write, and SQLite stores of earlier releases. */
const storedName = /\.(?:jsonl|sqlite3?|db)$/i;

/**
 * Returns the names of the files in a store.
 *
 * @internal
 */
export function storedFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => storedName.test(name))
      .sort();
  } catch (cause) {
    throw new RematError(
      "FIT_STORE",
      `${folder}: not a folder of remat fit --store (${(cause as Error).message}). Name the folder that was passed to --store.`,
      {
        cause,
      },
    );
  }
}

/**
 * Returns the rows of all searches in a store, the earliest search first. It also reads SQLite stores of earlier
 * releases in the folder.
 *
 * @throws RematError `FIT_STORE` for a folder that cannot be read, and for a damaged file, with its name
 * @example
 * (await readFitStore("fits")).filter(({ is_best }) => is_best === 1);
 */
export async function readFitStore(folder: string): Promise<readonly StoredRow[]> {
  return readStoredFiles(folder, storedFiles(folder));
}

/**
 * Returns the rows of some files of a store.
 *
 * @internal
 */
export async function readStoredFiles(folder: string, names: readonly string[]): Promise<readonly StoredRow[]> {
  const rows: StoredRow[] = [];
  for (const name of names) {
    const path = join(folder, name);
    const content = readWhole(path);
    rows.push(...(/\.jsonl$/i.test(name) ? rowsOfLines(path, content) : await rowsOfSqlite(path, content)));
  }
  // The sort is stable and files are in the order of their names, so rows of one search stay together.
  return rows.sort((a, b) => (String(a["at"]) < String(b["at"]) ? -1 : String(a["at"]) > String(b["at"]) ? 1 : 0));
}

function readWhole(path: string): Buffer {
  try {
    // A link may lead out of the folder, and searches write no links.
    if (!lstatSync(path).isFile()) throw new Error("not a regular file");
    return readInput(path, { maxBytes: mostBytes });
  } catch (cause) {
    throw damaged(path, (cause as Error).message, cause);
  }
}

function rowsOfLines(path: string, content: Buffer): readonly StoredRow[] {
  const mark = ownName.exec(path)?.[1];
  if (mark !== undefined && mark !== contentMark(content))
    throw damaged(path, "its content was changed after it was written");
  return content
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line, i) => {
      let value: unknown;
      try {
        value = parseJsonText(line);
      } catch (cause) {
        throw damaged(path, `line ${i + 1}: ${(cause as Error).message}`, cause);
      }
      return checkSchema(storedRowSchema, value, { code: "FIT_STORE", what: `${path}, line ${i + 1}` }) as StoredRow;
    });
}

/**
 * Returns the rows of a store of an earlier release. It rejects a store with a write-ahead log, because the rows in
 * that log would be missing.
 */
async function rowsOfSqlite(path: string, content: Buffer): Promise<readonly StoredRow[]> {
  requireNoLog(path);
  const { default: loadSqlite } = await import("sql.js");
  const sqlite = await loadSqlite();
  const db = new sqlite.Database(content);
  try {
    const [found] = db.exec(`SELECT ${columnNames.join(", ")} FROM fit`);
    return (found?.values ?? []).map((values, i) =>
      checkSchema(storedRowSchema, Object.fromEntries(columnNames.map((name, at) => [name, values[at]])), {
        code: "FIT_STORE",
        what: `${path}, row ${i + 1}`,
      }),
    ) as readonly StoredRow[];
  } catch (cause) {
    if (cause instanceof RematError) throw cause;
    throw damaged(path, (cause as Error).message, cause);
  } finally {
    db.close();
  }
}

/**
 * Rejects a SQLite file that another program has open or did not close, because part of it is in another file.
 *
 * @internal
 */
export function requireNoLog(path: string): void {
  for (const ending of ["-wal", "-journal"]) {
    const size = lstatSync(`${path}${ending}`, { throwIfNoEntry: false })?.size ?? 0;
    if (size > 0)
      throw new RematError(
        "FIT_STORE",
        `${path}: incomplete: part of it is in ${path}${ending}, because another program uses it or crashed. Close it, then run: sqlite3 ${path} "PRAGMA journal_mode=DELETE"`,
      );
  }
}

function damaged(path: string, why: string, cause?: unknown): RematError {
  return new RematError(
    "FIT_STORE",
    `${path}: cannot be read as a stored search (${why}). Move it out of the folder.`,
    {
      cause,
    },
  );
}
