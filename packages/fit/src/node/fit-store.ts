import { createHash } from "node:crypto";
import { accessSync, constants, lstatSync, mkdirSync, type Stats } from "node:fs";
import { RematError } from "@remat/trace";
import { writeNewFile } from "@remat/trace/files";
import type { FitSummary } from "../summarize-fit.js";
import { columnNames, type StoredSearch, storedRows } from "./stored-rows.js";

/**
 * Adds the results of a search to a store, which is a folder with one file per search. Files are written as a whole and
 * never changed, so any number of processes can add to a store at once. Each line of a file is one configuration as
 * JSON, with the columns of the table `fit` of {@link exportFitStore}.
 *
 * @returns the path of the new file
 * @throws RematError `FIT_STORE` if the folder cannot be written. No partial file is left then.
 * @example
 * await storeFit("fits", summary, { at: new Date().toISOString(), label: "main" });
 */
export function storeFit(folder: string, summary: FitSummary, search: StoredSearch): string {
  checkFitStore(folder);
  const lines = storedRows(summary, search).map((row) =>
    JSON.stringify(Object.fromEntries(columnNames.map((name) => [name, row[name] ?? null]))),
  );
  const text = lines.map((line) => `${line}\n`).join("");
  try {
    return writeNewFile(folder, storedFileName(search.at, text), text);
  } catch (cause) {
    throw cannotWrite(folder, cause);
  }
}

/**
 * Creates the folder of a store if none exists, and checks that it is writable, before a long search begins.
 *
 * @throws RematError `FIT_STORE` for a file, or for a folder that is not writable
 */
export function checkFitStore(folder: string): void {
  try {
    const stats = statsOf(folder);
    if (stats?.isFile())
      throw new RematError(
        "FIT_STORE",
        `${folder} is a file, and --store needs a folder. Move a SQLite store of an earlier release into one: mkdir fits && mv ${folder} fits/, then --store fits.`,
      );
    if (stats === undefined) makeFolder(folder);
    accessSync(folder, constants.W_OK);
  } catch (cause) {
    if (cause instanceof RematError) throw cause;
    throw cannotWrite(folder, cause);
  }
}

/** Creates only the last folder of a path. A missing parent folder is more likely a typing error. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another search may have started at the same time.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/**
 * Returns a hash for the name of a stored file, by which damaged files are detected.
 *
 * @internal
 */
export function contentMark(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

function storedFileName(at: string, text: string): string {
  return `${at.replace(/[^0-9A-Za-z]/g, "")}-${contentMark(text)}.jsonl`;
}

function statsOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function cannotWrite(folder: string, cause: unknown): RematError {
  return new RematError(
    "FIT_STORE",
    `${folder}: the store cannot be written (${(cause as Error).message}). Check the disk and permissions, or name another folder with --store.`,
    { cause },
  );
}
