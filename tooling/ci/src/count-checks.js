/**
 * How many checks of a stage passed and failed.
 * @typedef {{ readonly passed: number, readonly failed: number }} Count
 */

/**
 * A stage that is one check.
 *
 * @param {{ exitCode: number }} run
 * @returns {Count}
 */
export function countOne({ exitCode }) {
  return exitCode === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

/**
 * A stage that prints a line for each check, beginning with one of two words.
 *
 * @param {RegExp} passed
 * @param {RegExp} failed
 * @returns {(run: { output: string }) => Count}
 */
export function countLines(passed, failed) {
  return ({ output }) => {
    const lines = output.split("\n");
    return {
      passed: lines.filter((line) => passed.test(line)).length,
      failed: lines.filter((line) => failed.test(line)).length,
    };
  };
}

/**
 * The tasks that turbo ran: `Tasks:    12 successful, 15 total`.
 *
 * @param {{ output: string }} run
 * @returns {Count}
 */
export function countTasks({ output }) {
  const match = /^\s*Tasks:\s+(\d+) successful, (\d+) total/m.exec(output);
  if (match === null) return { passed: 0, failed: 0 };
  const passed = Number(match[1]);
  return { passed, failed: Number(match[2]) - passed };
}

/**
 * Tests by vitest's JSON report. A file that could not be loaded is a failure, too.
 *
 * @param {string} report
 * @returns {Count}
 */
export function countTests(report) {
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(report);
  const broken = testResults.filter(
    (/** @type {{ status: string, assertionResults: { status: string }[] }} */ file) =>
      file.status === "failed" && !file.assertionResults.some(({ status }) => status === "failed"),
  );
  return { passed: numPassedTests, failed: numFailedTests + broken.length };
}

/**
 * The count, unless the exit code says otherwise: a stage that failed has a failure, and one in which nothing was checked proves nothing.
 *
 * @param {Count} count
 * @param {number} exitCode
 * @returns {Count}
 */
export function reconcile({ passed, failed }, exitCode) {
  if (failed === 0 && (exitCode !== 0 || passed === 0)) return { passed, failed: 1 };
  return { passed, failed };
}
