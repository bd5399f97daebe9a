import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { readInputText } from "@remat/trace/files";

/**
 * Returns the version of the package that a specifier (`name`, `@scope/name/entry`) belongs to, as installed for `from`:
 * by default, for this command. Undefined if it is not found, is part of Node, or has no version. It does not import
 * `name/package.json`, which a package need not export.
 */
export function installedVersion(specifier: string, from: string = import.meta.url): string | undefined {
  const [scope, rest] = specifier.split("/");
  const name = specifier.startsWith("@") ? `${scope}/${rest}` : scope;
  for (const modules of createRequire(from).resolve.paths(name) ?? []) {
    const file = join(modules, name, "package.json");
    if (existsSync(file)) return (JSON.parse(readInputText(file)) as { version?: string }).version;
  }
  return undefined;
}
