import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Written in two parts, so that this file does not match. */
const call = ["nativeApp", "()"].join("");

/**
 * The test files of the workspace that each change runs, from its root.
 *
 * @param {string} root
 * @param {readonly string[]} [folders] of the repository
 * @returns {readonly string[]}
 */
export function testFiles(root, folders = ["packages", "apps", "examples", "tooling"]) {
  return folders.flatMap((folder) =>
    filesBelow(root, folder)
      .filter((file) => file.endsWith(".test.ts") && !file.endsWith(".night.test.ts"))
      .sort(),
  );
}

/**
 * The test files that call `nativeApp()`, which returns a folder with the native backend. Names of tests that run on it
 * contain the name of the backend, `tensorflow`.
 *
 * @param {string} root
 * @param {readonly string[]} [folders] of the repository
 * @returns {readonly string[]}
 */
export function nativeTests(root, folders) {
  return testFiles(root, folders).filter((file) => readFileSync(join(root, file), "utf8").includes(call));
}

/**
 * Does not enter `node_modules`, where workspace packages link to each other in cycles.
 *
 * @param {string} root
 * @param {string} folder
 * @returns {string[]}
 */
function filesBelow(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (!entry.isDirectory()) return [path];
    return entry.name === "node_modules" || entry.name === "dist" ? [] : filesBelow(root, path);
  });
}
