import { chmodSync, lstatSync, readdirSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { distrustOf, formatSums, hashFile, readSums, sumsFile } from "@remat/dispatch-hook/backends/node";

const writableByOthers = 0o022;

/** A difference between a folder in the cache and its state when it was built. */
export interface SealProblem {
  /** The path of the file or folder that differs, or of the whole sealed folder. */
  readonly path: string;
  /** The difference, in words. */
  readonly what: string;
}

/**
 * Removes write access for everyone but the owner in a folder, and writes `SHA256SUMS` of all its files.
 *
 * @internal
 */
export async function sealFolder(folder: string): Promise<void> {
  for (const path of [folder, ...entriesOf(folder)]) protect(path);
  const sums = new Map<string, string>();
  for (const path of filesOf(folder)) sums.set(inFolder(folder, path), await hashFile(path));
  writeFileSync(join(folder, sumsFile), formatSums(sums), { mode: 0o644 });
}

/**
 * Removes write access to a file or folder for everyone but the owner.
 *
 * @internal
 */
export function protect(path: string): void {
  const stats = lstatSync(path);
  if (!stats.isSymbolicLink() && (stats.mode & writableByOthers) !== 0)
    chmodSync(path, stats.mode & 0o7777 & ~writableByOthers);
}

/**
 * Returns what has changed in a folder since `sealFolder`: files changed, removed or added, and anything that belongs
 * to other users or is writable by them.
 *
 * @param hash `hashFile`, or a version that caches
 * @internal
 */
export async function checkSeal(
  folder: string,
  hash: (path: string) => Promise<string> = hashFile,
): Promise<{ problems: readonly SealProblem[]; files: number }> {
  const sums = readSums(folder);
  if (sums === undefined)
    return { problems: [{ path: folder, what: `has no ${sumsFile}: an earlier version of remat built it` }], files: 0 };
  const problems: SealProblem[] = [];
  for (const path of [folder, ...entriesOf(folder)]) {
    const distrust = distrustOf(path);
    if (distrust !== undefined) problems.push({ path, what: distrust.slice(path.length + 1) });
  }
  const missing = new Set(sums.keys());
  for (const path of filesOf(folder)) {
    const name = inFolder(folder, path);
    const expected = sums.get(name);
    missing.delete(name);
    if (expected === undefined) problems.push({ path, what: "was added after the build" });
    else {
      const found = await hash(path).catch(() => "unknown, because it cannot be read");
      if (found !== expected) problems.push({ path, what: `has SHA-256 ${found}, expected ${expected}` });
    }
  }
  for (const name of missing) problems.push({ path: join(folder, name), what: "is missing" });
  return { problems, files: sums.size };
}

/** Everything in a folder, sorted. Links are not followed. */
const entriesOf = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .sort()
    .map((name) => join(folder, name));

/** Files, and links to files. */
const filesOf = (folder: string): readonly string[] =>
  entriesOf(folder).filter((path) => !lstatSync(path).isDirectory() && path !== join(folder, sumsFile));

const inFolder = (folder: string, path: string): string => relative(folder, path).split(sep).join("/");
