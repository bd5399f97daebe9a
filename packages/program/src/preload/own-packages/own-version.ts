import { dirname, join } from "node:path";
import type { ProgramIo } from "../../outside/program-io.js";

/**
 * Returns the version of the package `name` that contains `file`, or undefined if none of its parent folders has a
 * manifest of that name.
 */
export function ownVersion(file: string, name: string, io: ProgramIo): string | undefined {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const found = parse(io.readOptional(join(folder, "package.json")));
    if (found?.name !== undefined) return found.name === name ? found.version : undefined;
  }
  return undefined;
}

function parse(text: string | undefined): { readonly name?: string; readonly version?: string } | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as { name?: string; version?: string });
  } catch {
    // Invalid JSON: Node reports the error when it loads the package.
    return undefined;
  }
}

/** Returns the package of an entry point. */
export const packageOf = (specifier: string): string => specifier.split("/").slice(0, 2).join("/");
