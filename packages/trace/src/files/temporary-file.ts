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

/** A file that will take the place of another; it has a name that nobody else has. */
export interface TemporaryFile {
  readonly path: string;
  readonly fd: number;
}

const endings = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const open = new Set<TemporaryFile>();

/**
 * Makes a file beside `target`, by a name that is random and so tells two processes with one id apart, too, with the rights of `before`. Until
 * {@link closeTemporaryFile} a signal or the end of the process removes it.
 */
export function openTemporaryFile(target: string, before: Stats | undefined): TemporaryFile {
  // A folder lets anybody who may write to it replace a file that is protected from them.
  if (before !== undefined) accessSync(target, constants.W_OK);
  const path = join(dirname(target), `remat-${randomBytes(8).toString("hex")}.part`);
  const file = { path, fd: openFor(target, path, before === undefined ? 0o666 : 0o600) };
  watch();
  open.add(file);
  if (before !== undefined) keepRights(path, before);
  return file;
}

/** Nobody knows the file by the name that fails. */
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

/** Brings to the disk what was written; `use` gives it its name, then nothing is left of the temporary one. */
export function publishTemporaryFile({ path, fd }: TemporaryFile, target: string, use: () => void): void {
  fsyncSync(fd);
  use();
  rmSync(path, { force: true });
  syncFolder(dirname(target));
}

/** Removes what is left of it. */
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
    // Only root may give files away; whoever may write to the folder owns the new one.
  }
  // After chown, which takes set-id bits away.
  chmodSync(path, mode & 0o7777);
}

/** A new name lasts once its folder is on the disk; not every system lets a folder be opened. */
function syncFolder(folder: string): void {
  try {
    const fd = openSync(folder, "r");
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch {
    // The file itself is whole, under one of its names.
  }
}

function removeAll(): void {
  for (const { path } of open) rmSync(path, { force: true });
}

/** A listener keeps a signal from ending the process, so it ends it, unless somebody else listens and will. */
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
