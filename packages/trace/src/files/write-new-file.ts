import { constants, copyFileSync, linkSync, writeFileSync } from "node:fs";
import { extname, resolve } from "node:path";
import { closeTemporaryFile, openTemporaryFile, publishTemporaryFile } from "./temporary-file.js";

/** How many files of one name there may be. */
const mostOfOneName = 1000;

/**
 * Writes a file that was not there before, whole or not at all: where `name` is taken, `name-2` and so on. Returns its full path.
 *
 * @throws what the file system throws
 * @example
 * writeNewFile("exports", "ops.csv", text); // "/home/me/exports/ops.csv", or ops-2.csv
 */
export function writeNewFile(folder: string, name: string, text: string): string {
  const ending = extname(name);
  const stem = name.slice(0, name.length - ending.length);
  const file = openTemporaryFile(resolve(folder, name), undefined);
  try {
    writeFileSync(file.fd, text);
    for (let i = 1; ; i++) {
      const path = resolve(folder, i === 1 ? name : `${stem}-${i}${ending}`);
      try {
        publishTemporaryFile(file, path, () => linkExclusively(file.path, path));
        return path;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST" || i >= mostOfOneName) throw error;
      }
    }
  } finally {
    closeTemporaryFile(file);
  }
}

/** A rename would take another file's place; not every file system has links. */
function linkExclusively(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes((error as NodeJS.ErrnoException).code ?? ""))
      throw error;
    copyFileSync(from, to, constants.COPYFILE_EXCL);
  }
}
