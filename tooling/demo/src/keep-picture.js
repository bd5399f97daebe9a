import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const isCheck = process.argv.includes("--check");

/**
 * Writes a picture if it differs from the committed one. With `--check`, nothing is written, and a difference is a
 * failure.
 *
 * @param {string} path
 * @param {Buffer} picture
 * @param {(committed: Buffer, drawn: Buffer) => string | undefined} difference describes it, or returns undefined
 */
export function keepPicture(path, picture, difference) {
  const name = relative(root, path);
  const found = existsSync(path) ? difference(readFileSync(path), picture) : "it does not exist";
  if (found === undefined) return console.log(`ok      ${name}`);
  if (!isCheck) {
    writeFileSync(path, picture);
    return console.log(`drawn   ${name}: ${found}`);
  }
  console.log(`not ok  ${name}: ${found}. Draw it again with pnpm demo:report or pnpm demo:terminal, and commit it.`);
  process.exitCode = 1;
}
