import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { dirname, resolve } from "node:path";

/** What a path turns out to be, once its symlinks are followed. */
export type OutputTarget =
  /** A descriptor of this process: `-`, `/dev/stdout`, what a shell makes of `>(command)`. */
  | { readonly kind: "descriptor"; readonly fd: number }
  /** A regular file, or a name that is free; `before` is what stands there. */
  | { readonly kind: "file"; readonly path: string; readonly before: Stats | undefined }
  /** A character device such as `/dev/null`, which only ever takes what is written to it. */
  | { readonly kind: "device"; readonly path: string }
  /** Nothing is written to it: writing to a named pipe may wait for ever, and to a disk destroys what is on it. */
  | { readonly kind: "refused"; readonly path: string; readonly what: string };

const descriptorPath = /^\/(?:dev|proc\/(?:self|thread-self|\d+))\/fd\/(\d+)$/;
const standardPaths: Readonly<Record<string, number>> = { "/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2 };
/** As many as Linux follows. */
const mostLinks = 40;

/** Follows symlinks one by one, since a link to a descriptor leads nowhere that could be named (`pipe:[4711]`). */
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
 * Returns why a path would not be written to, such as "a named pipe"; undefined for a file, a name that is free, a character device such as `/dev/null`, and a
 * descriptor of this process such as `/dev/stdout` or a shell's `>(command)`.
 *
 * @example
 * refusedOutput("pipe"); // "a named pipe"
 */
export function refusedOutput(path: string): string | undefined {
  try {
    const target = outputTarget(path);
    return target.kind === "refused" ? target.what : undefined;
  } catch {
    // Writing it says what is wrong.
    return undefined;
  }
}

/** Returns the error for a path that is not written to; a folder has the file system's own. */
export function refusal({ path, what }: { readonly path: string; readonly what: string }): Error {
  return what === "a folder"
    ? Object.assign(new Error(`EISDIR: illegal operation on a directory, open '${path}'`), { code: "EISDIR" })
    : Object.assign(new Error(`EINVAL: it is ${what}, not a regular file, '${path}'`), { code: "EINVAL" });
}

/** Returns the number of a descriptor of this process that a path names. */
export function ownDescriptor(path: string): number | undefined {
  if (path in standardPaths) return standardPaths[path];
  const match = descriptorPath.exec(path);
  if (match === null || (/^\/proc\/\d/.test(path) && !path.startsWith(`/proc/${process.pid}/`))) return undefined;
  return Number(match[1]);
}
