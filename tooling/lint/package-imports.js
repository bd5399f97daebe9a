import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readModule } from "../testkit/read-module.js";
import { workspaceFolders } from "../testkit/workspace-folders.js";
import { entryOf, importTable } from "./import-table.js";

/**
 * Reads which entries of the import table each entry imports, types included. A second entry point that imports a file
 * of its package's root imports the root. The folders of an app count as one entry.
 *
 * @param {string} root of the workspace
 * @returns {ReadonlyMap<string, ReadonlySet<string>>}
 */
export function readPackageImports(root) {
  /** @type {Map<string, Set<string>>} */
  const imports = new Map(Object.keys(importTable).map((entry) => [nodeOf(entry), new Set()]));
  for (const path of sourceFiles(root)) {
    const from = nodeOf(entryOf(path));
    const { imports: taken } = readModule(readFileSync(join(root, path), "utf8"), path);
    for (const { source: specifier } of taken) {
      const to = specifier.startsWith(".")
        ? entryOf(new URL(specifier, `file:///${path}`).pathname.slice(1))
        : named(specifier);
      if (to !== undefined && nodeOf(to) !== from) imports.get(from).add(nodeOf(to));
    }
  }
  return imports;
}

function sourceFiles(root) {
  const folders = workspaceFolders(root, ["packages", "apps"]).flatMap((folder) => [`${folder}/src`, `${folder}/page`]);
  return folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((file) => `${folder}/${file}`))
    .filter((path) => /\.(?:ts|tsx)$/.test(path))
    .sort();
}

/** Folders of an app are drawn as the app. */
function nodeOf(entry) {
  const [name, folder] = entry.split("/");
  return folder === "page" || folder === "data" ? name : entry;
}

function named(specifier) {
  if (!specifier.startsWith("@remat/")) return undefined;
  const entry = specifier.slice("@remat/".length);
  return Object.hasOwn(importTable, entry) ? entry : entry.split("/")[0];
}
