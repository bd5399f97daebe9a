import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Vitest's JSON reports of all folders of the workspace, as texts.
 *
 * @param {string} root of the workspace
 * @param {"test" | "test-e2e"} tier
 * @returns {readonly string[]}
 */
export function testReports(root, tier) {
  const folders = ["packages", "apps", "tooling"].flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => join(root, folder, name)),
  );
  return [...folders, join(root, "examples")]
    .map((folder) => join(folder, "test-results", `${tier}.json`))
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, "utf8"));
}
