import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { workspaceFolders } from "../../testkit/workspace-folders.js";

/**
 * Vitest's JSON reports of all folders of the workspace, as texts.
 *
 * @param {string} root of the workspace
 * @param {"test" | "test-e2e"} tier
 * @returns {readonly string[]}
 */
export function testReports(root, tier) {
  return [...workspaceFolders(root), "examples"]
    .map((folder) => join(root, folder, "test-results", `${tier}.json`))
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, "utf8"));
}
