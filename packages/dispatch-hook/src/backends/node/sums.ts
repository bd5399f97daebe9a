import { createHash } from "node:crypto";
import { createReadStream, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

/** The file of a folder in the cache that names the SHA-256 of every other, as `sha256sum` writes it, so that `sha256sum -c` reads it. */
export const sumsFile = "SHA256SUMS";

/**
 * Returns the SHA-256 of a file, in hexadecimal.
 *
 * @example
 * await hashFile("wheel.whl"); // "dcc8afd3…"
 */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  // A stream for each of thousands of small files takes longer than they do.
  if (statSync(path).size < 1 << 22) return hash.update(readFileSync(path)).digest("hex");
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest("hex");
}

/**
 * Returns what `SHA256SUMS` of a folder says: the SHA-256 of each file by its path in the folder; undefined if there is no such file.
 *
 * @example
 * readSums(nativeAppFolder("tfjs-node"))?.get("package.json");
 */
export function readSums(folder: string): ReadonlyMap<string, string> | undefined {
  let text: string;
  try {
    text = readFileSync(join(folder, sumsFile), "utf8");
  } catch {
    return undefined;
  }
  const sums = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, sum, path] = /^([0-9a-f]{64}) [ *](?:\.\/)?(.+)$/.exec(line) ?? [];
    if (path !== undefined) sums.set(path, sum);
  }
  return sums;
}

/** Writes sums as `readSums` reads them. @internal */
export const formatSums = (sums: ReadonlyMap<string, string>): string =>
  [...sums].map(([path, sum]) => `${sum}  ${path}\n`).join("");
