import { existsSync, lstatSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";

const writableByOthers = 0o022;
const writableByAll = 0o002;
/** In a folder with this bit, such as /tmp, only a file's owner may remove or replace it. */
const sticky = 0o1000;

/**
 * Returns why a file or folder must not be loaded: it belongs to a user other than this one and root, or others may
 * write to it. Undefined if it is safe, and if files have no owners (Windows).
 *
 * @example
 * distrustOf("/tmp/planted.so"); // "/tmp/planted.so belongs to the user 1001, not to this one (1000) or root"
 */
export function distrustOf(path: string, uid: number | undefined = process.getuid?.()): string | undefined {
  if (uid === undefined) return undefined;
  const stats = lstatSync(path);
  if (stats.uid !== uid && stats.uid !== 0) return `${path} belongs to user ${stats.uid}, not to you (${uid}) or root`;
  if (stats.isSymbolicLink() || (stats.mode & writableByOthers) === 0) return undefined;
  return `${path} is writable by other users (mode ${(stats.mode & 0o7777).toString(8)})`;
}

/**
 * Returns why a file in the folder `top` must not be loaded: because of itself or of a folder between `top` and the
 * file (see `distrustOf`), or because any user can replace `top`. Links are followed, but not checked outside of `top`.
 *
 * @example
 * distrustOfWay(`${cacheFolder()}/native/some.so`, cacheFolder()); // undefined: it may be loaded
 */
export function distrustOfWay(
  file: string,
  top: string,
  uid: number | undefined = process.getuid?.(),
): string | undefined {
  if (uid === undefined || !existsSync(top)) return undefined;
  const root = realpathSync(top);
  for (let folder = dirname(root); ; folder = dirname(folder)) {
    const { mode } = statSync(folder);
    if ((mode & writableByAll) !== 0 && (mode & sticky) === 0)
      return `${folder} is writable by all users (mode ${(mode & 0o7777).toString(8)})`;
    if (folder === dirname(folder)) break;
  }
  const way = relative(root, realpathSync(file)).split(sep);
  if (way[0] === "..") return undefined;
  for (let i = 0; i <= way.length; i++) {
    const distrust = distrustOf(join(root, ...way.slice(0, i)), uid);
    if (distrust !== undefined) return distrust;
  }
  return undefined;
}
