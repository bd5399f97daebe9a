import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Returns the version of the package `name` that `file` is of; nothing where its folders have no manifest of that name. */
export function ownVersion(file: string, name: string): string | undefined {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = join(folder, "package.json");
    if (!existsSync(manifest)) continue;
    const found = JSON.parse(readFileSync(manifest, "utf8")) as { name?: string; version?: string };
    if (found.name !== undefined) return found.name === name ? found.version : undefined;
  }
  return undefined;
}

/** Returns the package that an entry point is of. */
export const packageOf = (specifier: string): string => specifier.split("/").slice(0, 2).join("/");
