import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/**
 * Returns the folders of the workspace that have a package.json, from its root: `packages/trace`. Git leaves ignored
 * files behind where a package was removed. Such a folder does not count.
 *
 * @param {string} root of the workspace
 * @param {readonly string[]} [groups] folders whose folders count
 * @returns {string[]} by group, then by name
 */
export function workspaceFolders(root, groups = ["packages", "apps", "tooling"]) {
  return groups
    .flatMap((group) =>
      readdirSync(join(root, group))
        .sort()
        .map((name) => `${group}/${name}`),
    )
    .filter((folder) => existsSync(join(root, folder, "package.json")));
}

/**
 * Returns the source of each entry of remat's packages, from the root of the workspace: `@remat/memory/graph` is
 * packages/memory/src/graph/index.ts.
 *
 * @param {string} root of the workspace
 * @returns {Map<string, string>} by specifier
 */
export function entrySources(root) {
  return new Map(
    workspaceFolders(root, ["packages"]).flatMap((folder) => {
      const { name, exports = {} } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
      return Object.entries(exports).map(([entry, conditions]) => [
        `${name}${entry.slice(1)}`,
        posix.join(folder, conditions["@remat/source"]),
      ]);
    }),
  );
}
