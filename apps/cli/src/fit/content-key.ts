import { createHash, type Hash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { readInput } from "@remat/trace/files";
import { installedVersion } from "../installed-version.js";
import { isOf, type ModelSource } from "../model-source.js";
import { buildHash } from "./build-hash.js";

/** Code and topologies are small. Recorded runs may be larger. */
const mostCodeBytes = 256 * 2 ** 20;

/**
 * Returns a hash of everything that results depend on: the code that computes them and `files`, with the step and the
 * hashes of the files.
 */
export function contentKey(files: object): string {
  return createHash("sha256")
    .update(JSON.stringify([buildHash(), files]))
    .digest("hex");
}

/**
 * Returns the hash of a run or a model. For a model it includes the files that its code imports by relative name, and
 * the versions of the packages that it imports. Files that the code reads at run time are not included.
 *
 * @throws an Error for anything but a regular file, and errors of the file system
 */
export function hashOfSource(source: ModelSource): string {
  const hash = createHash("sha256");
  if (isOf(source, "model")) addCode(hash, source.path, new Set());
  else add(hash, readInput(source.path));
  return hash.digest("hex");
}

/** Returns the hash of a module, as {@link hashOfSource} does for a model. */
export function hashOfFile(path: string): string {
  const hash = createHash("sha256");
  addCode(hash, path, new Set());
  return hash.digest("hex");
}

function add(hash: Hash, ...parts: readonly (string | Buffer)[]): void {
  for (const part of parts) hash.update(String(part.length)).update("\n").update(part);
}

function addCode(hash: Hash, path: string, seen: Set<string>): void {
  if (seen.has(path)) return;
  seen.add(path);
  const content = readInput(path, { maxBytes: mostCodeBytes });
  add(hash, content);
  // Only code imports other files. The weights of a Keras topology do not matter.
  if (!/\.[cm]?js$/.test(path)) return;
  for (const name of importedNames(content.toString())) {
    if (name.startsWith(".")) {
      const file = resolve(dirname(path), name);
      if (existsSync(file) && statSync(file).isFile()) addCode(hash, file, seen);
    } else add(hash, name, installedVersion(name, path) ?? "");
  }
}

/** Returns the names that code passes to `import`, `export … from`, `import()`, `require()` and `new URL(…)`. */
function importedNames(code: string): readonly string[] {
  const names = new Set<string>();
  for (const [, name] of code.matchAll(/\b(?:from|import|require|URL)\s*\(?\s*["'`]([^"'`\n]+)["'`]/g)) names.add(name);
  return [...names].sort();
}
