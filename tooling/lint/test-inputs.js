import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/**
 * Returns the paths outside its own folder that the tests of a workspace folder name: imports, and strings that begin
 * with `../` and exist. If `${` follows in a string, its folder counts.
 *
 * @param {string} root of the workspace
 * @param {string} folder with a folder `test`
 * @returns {readonly string[]} sorted
 */
export function outerPathsOfTests(root, folder) {
  /** @type {Set<string>} */
  const found = new Set();
  for (const file of readdirSync(join(root, folder, "test"), { recursive: true, encoding: "utf8" })) {
    if (!/\.[cm]?[jt]sx?$/.test(file)) continue;
    const from = posix.join(folder, "test", posix.dirname(file));
    const text = readFileSync(join(root, folder, "test", file), "utf8");
    for (const [, named] of text.matchAll(/["'`]((?:\.\.\/)+[^"'`\n]*)["'`]/g)) {
      const path = existing(root, posix.join(from, named.split("${")[0]));
      const isOutside =
        path !== undefined && path !== "." && !path.startsWith("..") && !`${path}/`.startsWith(`${folder}/`);
      if (isOutside) found.add(path);
    }
  }
  return [...found].sort((a, b) => (a < b ? -1 : 1));
}

/** The path itself, or with the extension of its source, or undefined if neither exists. */
function existing(root, path) {
  const paths = [path.replace(/\/$/, ""), path.replace(/\.js$/, ".ts"), path.replace(/\.js$/, ".tsx")];
  return paths.find((one) => existsSync(join(root, one)));
}
