import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { outputTarget } from "./output-target.js";

/**
 * Returns the one name of the regular file that `path` is, or would be, whatever it is spelled as: links followed, its folder's, too. Undefined for what is none
 * (a device, a pipe), and for what cannot be.
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
    // What leads nowhere is refused when it is read or written.
    return undefined;
  }
}
