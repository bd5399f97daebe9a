import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Returns the path of the first of these programs that is in a folder of the PATH. */
export function onPath(...names: readonly string[]): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path));
}

/**
 * Returns the file that an environment variable names, or undefined if it is not set. Throws if the file does not
 * exist.
 */
export function namedBy(variable: string): string | undefined {
  const named = process.env[variable];
  if (named === undefined || named === "") return undefined;
  if (existsSync(named)) return named;
  throw new Error(`${variable} is ${named}, where there is no file. Expected the path of a program.`);
}
