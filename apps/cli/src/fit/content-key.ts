import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { isOf } from "../model-source.js";
import { versionText } from "../version.js";
import type { FitJob } from "./steps-of-job.js";

/**
 * Returns what tells one job from another by content: of remat, of the options, and of the files: runs, models with the files beside them that their code imports by a relative
 * name, and the versions of the packages that it imports. What code reads as it runs is not among them.
 */
export function contentKey({ sources, options }: FitJob): string {
  const hash = createHash("sha256");
  const add = (...parts: readonly (string | Buffer)[]): void => {
    for (const part of parts) hash.update(String(part.length)).update("\n").update(part);
  };
  add(versionText(), JSON.stringify(options));
  const seen = new Set<string>();
  const addCode = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    const content = readFileSync(path);
    add(content);
    if (!/\.[cm]?js$/.test(path)) {
      // A Keras topology: its weights do not matter.
      return;
    }
    for (const name of importedNames(content.toString())) {
      if (name.startsWith(".")) {
        const file = resolve(dirname(path), name);
        if (existsSync(file) && statSync(file).isFile()) addCode(file);
      } else add(name, versionOf(name, path));
    }
  };
  for (const source of sources) {
    if (isOf(source, "model")) addCode(source.path);
    else add(readFileSync(source.path));
  }
  if (options.layers !== undefined) addCode(options.layers);
  return hash.digest("hex");
}

/** What a module names: in `import`, `export … from`, `import()`, `require()`, `new URL(…)`, and as the name of a file beside it. */
function importedNames(code: string): readonly string[] {
  const names = new Set<string>();
  for (const [, name] of code.matchAll(/\b(?:from|import|require|URL)\s*\(?\s*["'`]([^"'`\n]+)["'`]/g)) names.add(name);
  return [...names].sort();
}

/** The version of an installed package, as its `package.json` says; of what is not found, or Node's own, nothing. */
function versionOf(name: string, from: string): string {
  const [scope, rest] = name.split("/");
  const packageName = name.startsWith("@") ? `${scope}/${rest}` : scope;
  for (const folder of createRequire(from).resolve.paths(packageName) ?? []) {
    const file = join(folder, packageName, "package.json");
    if (!existsSync(file)) continue;
    const { version } = JSON.parse(readFileSync(file, "utf8")) as { version?: string };
    return version ?? "";
  }
  return "";
}
