import { relative, sep } from "node:path";

/**
 * Tests that no stage has run: test files that no report contains, and tests that every report skips.
 *
 * @param {string} root of the workspace
 * @param {readonly string[]} files the test files of the workspace, from its root
 * @param {readonly string[]} reports vitest's JSON reports, as texts
 * @returns {readonly string[]} file, or file and name
 */
export function neverRun(root, files, reports) {
  /** @type {Map<string, Map<string, boolean>>} */
  const ran = new Map();
  for (const report of reports) {
    /** @type {{ testResults: import("./count-checks.js").TestFile[] }} */
    const { testResults } = JSON.parse(report);
    for (const { name, assertionResults } of testResults) {
      const file = relative(root, name).split(sep).join("/");
      const tests = ran.get(file) ?? new Map();
      ran.set(file, tests);
      for (const { fullName, status } of assertionResults)
        tests.set(fullName, tests.get(fullName) === true || status === "passed" || status === "failed");
    }
  }
  return files.flatMap((file) => {
    const tests = ran.get(file);
    if (tests === undefined) return [file];
    return Array.from(tests, ([name, hasRun]) => (hasRun ? [] : [`${file} > ${name}`])).flat();
  });
}
