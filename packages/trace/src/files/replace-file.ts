import { renameSync, writeFileSync } from "node:fs";
import { outputTarget } from "./output-target.js";
import { closeTemporaryFile, openTemporaryFile, publishTemporaryFile } from "./temporary-file.js";

/**
 * Replaces a file of remat's own, such as a cache or a setting, atomically, because another run may be reading it.
 *
 * @throws errors of the file system
 * @example
 * replaceFile("/home/me/.cache/remat/times.json", JSON.stringify(times));
 */
export function replaceFile(path: string, content: string | Uint8Array): void {
  const target = outputTarget(path);
  if (target.kind !== "file") throw new Error(`EINVAL: not a file, '${path}'`);
  const file = openTemporaryFile(target.path, target.before);
  try {
    writeFileSync(file.fd, content);
    publishTemporaryFile(file, target.path, () => renameSync(file.path, target.path));
  } finally {
    closeTemporaryFile(file);
  }
}
