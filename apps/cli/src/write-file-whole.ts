import { rename, rm, writeFile } from "node:fs/promises";

/**
 * Writes a file beside its destination and renames it, so that a file that was there is lost only to a whole new one.
 *
 * @throws what the file system throws, after tidying up
 */
export async function writeFileWhole(path: string, content: string | Uint8Array): Promise<void> {
  const partial = `${path}.${process.pid}.part`;
  try {
    await writeFile(partial, content);
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}
