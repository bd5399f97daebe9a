import { randomBytes } from "node:crypto";
import {
  accessSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fsyncSync,
  openSync,
  rmSync,
  type Stats,
} from "node:fs";
import { dirname, join } from "node:path";

/** A file with a unique name that will replace another file. */
export interface TemporaryFile {
  readonly path: string;
  readonly fd: number;
}

const endings = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const open = new Set<TemporaryFile>();

/**
 * Creates a temporary file beside `target`, with the permissions of `before`. Its name is random, so that two processes
 * with the same id also get different names. Until {@link closeTemporaryFile} is called, a signal or the end of the
 * process removes the file.
 */
export function openTemporaryFile(target: string, before: Stats | undefined): TemporaryFile {
  // The folder's permissions would allow a user to replace a file that they must not write to.
  if (before !== undefined) accessSync(target, constants.W_OK);
  const path = join(dirname(target), `remat-${randomBytes(8).toString("hex")}.part`);
  const file = { path, fd: openFor(target, path, before === undefined ? 0o666 : 0o600) };
  watch();
  open.add(file);
  if (before !== undefined) keepRights(path, before);
  return file;
}

/** Opens the temporary file. Errors name the target, since the user does not know the temporary name. */
function openFor(target: string, path: string, mode: number): number {
  try {
    return openSync(path, "wx", mode);
  } catch (cause) {
    const error = cause as NodeJS.ErrnoException;
    throw Object.assign(new Error(error.message.replaceAll(path, target), { cause }), {
      code: error.code,
      path: target,
    });
  }
}

/** Flushes the written data to disk, calls `use` to give the file its final name, and removes the temporary name. */
export function publishTemporaryFile({ path, fd }: TemporaryFile, target: string, use: () => void): void {
  fsyncSync(fd);
  use();
  rmSync(path, { force: true });
  syncFolder(dirname(target));
}

/** Closes the file and removes its temporary name if it still exists. */
export function closeTemporaryFile(file: TemporaryFile): void {
  try {
    closeSync(file.fd);
  } finally {
    rmSync(file.path, { force: true });
    open.delete(file);
    if (open.size === 0) unwatch();
  }
}

function keepRights(path: string, { mode, uid, gid }: Stats): void {
  try {
    chownSync(path, uid, gid);
  } catch {
    // Only root may change the owner. Otherwise the new file belongs to the current user.
  }
  // This comes after chown, which clears the set-id bits.
  chmodSync(path, mode & 0o7777);
}

/** Flushes a folder, so that a new name survives a crash. Not every system allows folders to be opened. */
function syncFolder(folder: string): void {
  try {
    const fd = openSync(folder, "r");
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch {
    // The file itself is complete, under one of its names.
  }
}

function removeAll(): void {
  for (const { path } of open) rmSync(path, { force: true });
}

/**
 * Removes the temporary files and then ends the process, because a signal with a listener does not end the process. If
 * the signal has another listener, that listener must end the process.
 */
function endBySignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  removeAll();
  unwatch();
  process.kill(process.pid, signal);
}

function watch(): void {
  if (open.size > 0) return;
  process.on("exit", removeAll);
  for (const signal of endings) process.on(signal, endBySignal);
}

function unwatch(): void {
  process.off("exit", removeAll);
  for (const signal of endings) process.off(signal, endBySignal);
}
