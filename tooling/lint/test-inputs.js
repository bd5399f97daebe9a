import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/**
 * Returns the paths outside its own folder that the tests of a workspace folder name: imports, and strings that begin
 * with `../` and exist. If `${` follows in a string, its folder counts. A file that names the root also reads what its
 * other strings name from there.
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
    /** @param {string | undefined} path */
    const add = (path) => {
      if (path !== undefined && !path.startsWith("..") && !`${path}/`.startsWith(`${folder}/`)) found.add(path);
    };
    let namesRoot = false;
    for (const [, named] of text.matchAll(/["'`]((?:\.\.\/)+[^"'`\n]*)["'`]/g)) {
      const path = existing(root, posix.join(from, named.split("${")[0]));
      if (path === ".") namesRoot = true;
      else add(path);
    }
    // The root is joined with paths from there.
    if (!namesRoot) continue;
    for (const [, named] of text.matchAll(
      /["'`](?:\$\{\w+\}\/)?((?:apps|docs|examples|packages|tooling)(?:\/[\w./-]*)?|[A-Z]+\.md)["'`]/g,
    ))
      add(existing(root, named));
  }
  return [...found].sort((a, b) => (a < b ? -1 : 1));
}

/** The path itself, or with the extension of its source, or undefined if neither exists. */
function existing(root, path) {
  const paths = [path.replace(/\/$/, ""), path.replace(/\.js$/, ".ts"), path.replace(/\.js$/, ".tsx")];
  return paths.find((one) => existsSync(join(root, one)));
}
