import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";

/**
 * Returns the content of a regular file. A FIFO, a device or a socket is never waited for, and a file that is too large is not read.
 *
 * @throws what the file system throws; an Error for what is not a regular file, or has more than `mostBytes`
 * @example
 * new TextDecoder().decode(readRegularFile("answers/1f.json", 2 ** 20));
 */
export function readRegularFile(path: string, mostBytes: number): Uint8Array {
  // Without O_NONBLOCK, to open a FIFO waits for somebody who writes to it.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new Error(`${path} is not a regular file`);
    if (stats.size > mostBytes) throw new Error(`${path} has ${stats.size} bytes, more than ${mostBytes}`);
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}
