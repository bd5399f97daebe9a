import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** A build takes minutes. Process ids are not used, since they differ between containers. */
const leftAfterMs = 24 * 3600 * 1000;

/**
 * Creates a private folder next to `target` to build its replacement in. If unfinished, it is removed a day later.
 *
 * @internal
 */
export function stagingFolder(target: string): string {
  const parent = dirname(target);
  mkdirSync(parent, { recursive: true, mode: 0o755 });
  for (const name of readdirSync(parent)) {
    const path = join(parent, name);
    if (/^\.(?:new|old)-[0-9a-f]+-/.test(name) && isLeft(path)) rmSync(path, { recursive: true, force: true });
  }
  const folder = besides(target, "new");
  mkdirSync(folder, { mode: 0o755 });
  return folder;
}

const besides = (target: string, what: "new" | "old"): string =>
  join(dirname(target), `.${what}-${randomBytes(6).toString("hex")}-${basename(target)}`);

function isLeft(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs > leftAfterMs;
}

/**
 * Replaces `target` with `made`. If that fails, the old folder stays.
 *
 * @internal
 */
export function replaceFolder(target: string, made: string): void {
  const old = besides(target, "old");
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
