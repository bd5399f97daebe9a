import { createHash } from "node:crypto";
import { createReadStream, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

/**
 * File in a cache folder with the SHA-256 of all other files, in the format of `sha256sum`, so that `sha256sum -c` can
 * check it.
 */
export const sumsFile = "SHA256SUMS";

/**
 * Returns the SHA-256 of a file in hexadecimal.
 *
 * @example
 * await hashFile("wheel.whl"); // "dcc8afd3…"
 */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  // For thousands of small files, streams would take longer than hashing.
  if (statSync(path).size < 1 << 22) return hash.update(readFileSync(path)).digest("hex");
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest("hex");
}

/**
 * Returns the SHA-256 of each file in `SHA256SUMS` of a folder, by path in the folder. Undefined if there is no such
 * file.
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

/** Formats sums in the form that `readSums` reads. @internal */
export const formatSums = (sums: ReadonlyMap<string, string>): string =>
  [...sums].map(([path, sum]) => `${sum}  ${path}\n`).join("");
