import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The root of the workspace. */
export const root = fileURLToPath(new URL("../../../", import.meta.url));

/**
 * @typedef {object} Package
 * @property {string} name `@remat/trace`
 * @property {string} folder absolute
 * @property {string} shortName `trace`
 * @property {Record<string, any>} manifest its package.json
 */

/**
 * The published packages, dependencies first.
 *
 * @returns {readonly Package[]}
 */
export function publishedPackages(workspace = root) {
  /** @type {Map<string, Package>} */
  const byName = new Map();
  for (const group of ["packages", "apps"])
    for (const shortName of existsSync(join(workspace, group)) ? readdirSync(join(workspace, group)).sort() : []) {
      const folder = join(workspace, group, shortName);
      if (!existsSync(join(folder, "package.json"))) continue;
      const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      if (!manifest.private) byName.set(manifest.name, { name: manifest.name, folder, shortName, manifest });
    }
  /** @type {Set<Package>} */
  const ordered = new Set();
  /** @param {Package} item */
  const visit = (item) => {
    for (const dependency of Object.keys(item.manifest.dependencies ?? {})) {
      const other = byName.get(dependency);
      if (other !== undefined && !ordered.has(other)) visit(other);
    }
    ordered.add(item);
  };
  for (const item of byName.values()) visit(item);
  return [...ordered];
}

/**
 * The versions of the workspace's external dependencies, by name.
 *
 * @returns {Readonly<Record<string, string>>}
 */
export function catalogVersions() {
  const text = readFileSync(join(root, "pnpm-workspace.yaml"), "utf8");
  const [, catalog = ""] = /^catalog:\n((?: {2}.+\n)+)/m.exec(text) ?? [];
  const lines = catalog.matchAll(/^ {2}"?([^":]+)"?: (.+)$/gm);
  return Object.fromEntries([...lines].map(([, name, version]) => [name, version]));
}

/**
 * Entry points of a package that are imported for their exports. Data files and the file that runs the command are left
 * out.
 *
 * @param {Package} item
 * @returns {readonly { readonly entry: string, readonly target: { readonly types: string, readonly default: string }
 * }[]}
 */
export function importedEntries({ manifest }) {
  const programs = Object.values(manifest.bin ?? {});
  return Object.entries(manifest.exports ?? {})
    .filter(([, target]) => typeof target === "object" && !programs.includes(target.default))
    .map(([entry, target]) => ({ entry, target }));
}
