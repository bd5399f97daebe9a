import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const variable = ["process", "env", "NATIVE_APP"].join(".");

/**
 * The test files that take NATIVE_APP, a folder with the native backend; a test in them that runs on it has the backend's name, `tensorflow`,
 * in its own.
 *
 * @param {string} root
 * @returns {readonly string[]}
 */
export function nativeTests(root) {
  return ["packages", "apps", "examples", "tooling"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".test.ts") && !file.includes("node_modules"))
      .map((file) => `${folder}/${file}`)
      .filter((file) => readFileSync(join(root, file), "utf8").includes(variable))
      .sort(),
  );
}
