import { mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** A folder beside `target` for making what is to take its place; later removed if its process was ended. @internal */
export function stagingFolder(target: string): string {
  const parent = dirname(target);
  mkdirSync(parent, { recursive: true });
  for (const name of readdirSync(parent)) {
    const pid = /^\.(?:new|old)-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(parent, name), { recursive: true, force: true });
  }
  const folder = join(parent, `.new-${process.pid}-${basename(target)}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  return folder;
}

/** Puts `made` in the place of `target`; what was there stays if that fails. @internal */
export function replaceFolder(target: string, made: string): void {
  const old = join(dirname(target), `.old-${process.pid}-${basename(target)}`);
  const had = tryRename(target, old);
  try {
    renameSync(made, target);
  } catch (error) {
    if (had) tryRename(old, target);
    throw error;
  }
  rmSync(old, { recursive: true, force: true });
}

function tryRename(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process is none of ours to judge.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
