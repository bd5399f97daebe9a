import { constants, copyFileSync, linkSync, writeFileSync } from "node:fs";
import { extname, resolve } from "node:path";
import { closeTemporaryFile, openTemporaryFile, publishTemporaryFile } from "./temporary-file.js";

/** The largest number that is appended to a name. */
const mostOfOneName = 1000;

/**
 * Writes a new file completely or not at all. If `name` is taken, it tries `name-2` and so on. Returns the full path.
 *
 * @throws errors of the file system
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

/**
 * Gives a file a second name if that name is free. A rename would replace an existing file. On file systems without
 * hard links, the file is copied instead.
 */
function linkExclusively(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes((error as NodeJS.ErrnoException).code ?? ""))
      throw error;
    copyFileSync(from, to, constants.COPYFILE_EXCL);
  }
}
