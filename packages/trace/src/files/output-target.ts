import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { dirname, resolve } from "node:path";

/** What a path turns out to be, once its symlinks are followed. */
export type OutputTarget =
  /** A descriptor of this process: `-`, `/dev/stdout`, what a shell makes of `>(command)`. */
  | { readonly kind: "descriptor"; readonly fd: number }
  /** A regular file, or a name that is free; `before` is what stands there. */
  | { readonly kind: "file"; readonly path: string; readonly before: Stats | undefined }
  /** A device, pipe or socket, which only ever takes what is written to it; or a folder, which takes nothing. */
  | { readonly kind: "other"; readonly path: string };

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
    if (!stats.isSymbolicLink()) return { kind: "other", path: at };
    at = resolve(dirname(at), readlinkSync(at));
  }
  throw Object.assign(new Error(`ELOOP: more than ${mostLinks} symbolic links, '${path}'`), { code: "ELOOP" });
}

/** Returns the number of a descriptor of this process that a path names. */
export function ownDescriptor(path: string): number | undefined {
  if (path in standardPaths) return standardPaths[path];
  const match = descriptorPath.exec(path);
  if (match === null || (/^\/proc\/\d/.test(path) && !path.startsWith(`/proc/${process.pid}/`))) return undefined;
  return Number(match[1]);
}
