import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { outputTarget } from "./output-target.js";

/**
 * Returns the canonical path of the regular file that `path` is or would create, with all symbolic links followed, also
 * those of its folder. Returns undefined if the path is not a regular file (a device, a pipe) or cannot exist.
 *
 * @example
 * realOutput("../plans/./a.json"); // "/home/me/plans/a.json"
 */
export function realOutput(path: string): string | undefined {
  try {
    const target = outputTarget(path);
    if (target.kind === "file") return join(realpathSync(dirname(target.path)), basename(target.path));
    // A shell may have opened a file as standard input.
    if (target.kind !== "descriptor" || target.fd !== 0) return undefined;
    const opened = realpathSync("/dev/fd/0");
    return outputTarget(opened).kind === "file" ? opened : undefined;
  } catch {
    // Reading or writing the path reports the problem.
    return undefined;
  }
}
