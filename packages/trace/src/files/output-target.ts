import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { dirname, resolve } from "node:path";

/** The kind of output at a path, after symbolic links are followed. */
export type OutputTarget =
  /** A descriptor of this process: `-`, `/dev/stdout`, or a shell's `>(command)`. */
  | { readonly kind: "descriptor"; readonly fd: number }
  /** A regular file, or a path that does not exist yet. `before` describes the existing file. */
  | { readonly kind: "file"; readonly path: string; readonly before: Stats | undefined }
  /** A character device such as `/dev/null`, which can always be written to. */
  | { readonly kind: "device"; readonly path: string }
  /** A rejected output. Writing to a named pipe may wait forever, and writing to a disk destroys its contents. */
  | { readonly kind: "refused"; readonly path: string; readonly what: string };

const descriptorPath = /^\/(?:dev|proc\/(?:self|thread-self|\d+))\/fd\/(\d+)$/;
const standardPaths: Readonly<Record<string, number>> = { "/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2 };
/** Linux follows at most this many links. */
const mostLinks = 40;

/**
 * Finds the output that a path leads to. Follows symbolic links one by one, because a link to a descriptor has no real
 * path (`pipe:[4711]`).
 */
export function outputTarget(path: string): OutputTarget {
  if (path === "-") return { kind: "descriptor", fd: 1 };
  let at = resolve(path);
  for (let links = 0; links <= mostLinks; links++) {
    const fd = ownDescriptor(at);
    if (fd !== undefined) return { kind: "descriptor", fd };
    const stats = lstatSync(at, { throwIfNoEntry: false });
    if (stats === undefined || stats.isFile()) return { kind: "file", path: at, before: stats };
    if (stats.isCharacterDevice()) return { kind: "device", path: at };
    if (!stats.isSymbolicLink()) return { kind: "refused", path: at, what: whatIs(stats) };
    at = resolve(dirname(at), readlinkSync(at));
  }
  throw Object.assign(new Error(`ELOOP: more than ${mostLinks} symbolic links, '${path}'`), { code: "ELOOP" });
}

function whatIs(stats: Stats): string {
  if (stats.isDirectory()) return "a folder";
  if (stats.isFIFO()) return "a named pipe";
  return stats.isSocket() ? "a socket" : "a disk";
}

/**
 * Returns why `writeOutput` would reject a path, such as "a named pipe". Returns undefined for a file, a path that does
 * not exist yet, a character device such as `/dev/null`, and a descriptor of this process such as `/dev/stdout` or a
 * shell's `>(command)`.
 *
 * @example
 * refusedOutput("pipe"); // "a named pipe"
 */
export function refusedOutput(path: string): string | undefined {
  try {
    const target = outputTarget(path);
    return target.kind === "refused" ? target.what : undefined;
  } catch {
    // Writing to the path reports the problem.
    return undefined;
  }
}

/** Returns the error for a path that cannot be written to. A folder gets the error that the file system would raise. */
export function refusal({ path, what }: { readonly path: string; readonly what: string }): Error {
  return what === "a folder"
    ? Object.assign(new Error(`EISDIR: illegal operation on a directory, open '${path}'`), { code: "EISDIR" })
    : Object.assign(new Error(`EINVAL: it is ${what}, not a regular file, '${path}'`), { code: "EINVAL" });
}

/** Returns the number of the descriptor of this process that a path names, or undefined. */
export function ownDescriptor(path: string): number | undefined {
  if (path in standardPaths) return standardPaths[path];
  const match = descriptorPath.exec(path);
  if (match === null || (/^\/proc\/\d/.test(path) && !path.startsWith(`/proc/${process.pid}/`))) return undefined;
  return Number(match[1]);
}
