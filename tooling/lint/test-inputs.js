import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/**
 * The paths outside its own folder that the tests of each workspace folder name: imports, and strings that begin with `../` and exist. Where a string goes on with `${`, its folder counts.
 *
 * @param {string} root of the workspace
 * @param {readonly string[]} folders with a folder `test`
 * @returns {ReadonlyMap<string, readonly string[]>} by folder, sorted
 */
export function outerPathsOfTests(root, folders) {
  return new Map(
    folders.map((folder) => {
      /** @type {Set<string>} */
      const found = new Set();
      for (const file of readdirSync(join(root, folder, "test"), { recursive: true, encoding: "utf8" })) {
        if (!/\.[cm]?[jt]sx?$/.test(file)) continue;
        const from = posix.join(folder, "test", posix.dirname(file));
        for (const [, named] of readFileSync(join(root, folder, "test", file), "utf8").matchAll(
          /["'`]((?:\.\.\/)+[^"'`\n]*)["'`]/g,
        )) {
          const path = existing(root, posix.join(from, named.split("${")[0]));
          if (
            path !== undefined &&
            path !== "." &&
            !path.startsWith("..") &&
            path !== folder &&
            !path.startsWith(`${folder}/`)
          )
            found.add(path);
        }
      }
      return [folder, [...found].sort((a, b) => (a < b ? -1 : 1))];
    }),
  );
}

/** The path itself, or with the extension that its source has; undefined if there is neither. */
function existing(root, path) {
  const paths = [path.replace(/\/$/, ""), path.replace(/\.js$/, ".ts"), path.replace(/\.js$/, ".tsx")];
  return paths.find((one) => existsSync(join(root, one)));
}
