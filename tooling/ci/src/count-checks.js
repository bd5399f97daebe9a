/**
 * The number of a stage's checks that passed, and the failures: a text for each, whose first line is the check's name.
 *
 * @typedef {{ readonly passed: number, readonly failures: readonly string[] }} Count
 */

/** Lines of a stage's output to show for a failure that has no text of its own. */
const lastLines = 20;

/**
 * Counts a stage that is one check.
 *
 * @param {{ exitCode: number, output: string }} run
 * @returns {Count}
 */
export function countOne({ exitCode, output }) {
  return exitCode === 0 ? { passed: 1, failures: [] } : { passed: 0, failures: [endOf(output, exitCode)] };
}

/**
 * Counts a stage that prints a line for each check, beginning with one of two words. Indented lines after a failure
 * belong to it.
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
      failures: lines.flatMap((line, i) =>
        failed.test(line) ? [[line, ...indentedFrom(lines, i + 1)].join("\n")] : [],
      ),
    };
  };
}

/** @type {(lines: readonly string[], first: number) => readonly string[]} */
function indentedFrom(lines, first) {
  const end = lines.findIndex((line, i) => i >= first && !line.startsWith(" "));
  return lines.slice(first, end === -1 ? undefined : end);
}

/**
 * A line for each golden file: that it agrees or remat's answer is better is a pass; that it differs is a failure.
 *
 * @type {(run: { output: string }) => Count}
 */
export const countGoldens = countLines(/^(agrees|better)\s/, /^DIFFERS\s/);

/**
 * Counts the tasks that turbo ran: `Tasks:    12 successful, 15 total`, and those listed in `Failed:`.
 *
 * @param {{ output: string }} run
 * @returns {Count}
 */
export function countTasks({ output }) {
  const match = /^\s*Tasks:\s+(\d+) successful, (\d+) total/m.exec(output);
  if (match === null) return { passed: 0, failures: [] };
  const passed = Number(match[1]);
  const named = /^\s*Failed:\s+(.+)$/m.exec(output)?.[1]?.split(/,\s*/) ?? [];
  const failures = Array.from({ length: Number(match[2]) - passed }, (_, i) => named[i] ?? "a task that was not run");
  return { passed, failures };
}

/**
 * @typedef {object} TestFile
 * @property {string} name
 * @property {string} status
 * @property {string} [message]
 * @property {{ status: string, fullName: string, failureMessages?: string[] }[]} assertionResults
 */

/**
 * Counts tests in vitest's JSON report. A file that could not be loaded is also a failure.
 *
 * @param {string} report
 * @returns {Count}
 */
export function countTests(report) {
  /** @type {{ numPassedTests: number, testResults: TestFile[] }} */
  const { numPassedTests, testResults } = JSON.parse(report);
  const failures = testResults.flatMap(({ name, status, message = "", assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === "failed");
    if (failed.length > 0) {
      return failed.map(({ fullName, failureMessages = [] }) =>
        [`${name} > ${fullName}`, ...failureMessages].join("\n"),
      );
    }
    return status === "failed" ? [`${name}\n${message}`] : [];
  });
  return { passed: numPassedTests, failures };
}

/**
 * Corrects the count by the exit code: a stage that failed has a failure, and a stage that checked nothing proves
 * nothing.
 *
 * @param {Count} count
 * @param {{ exitCode: number, output: string }} run
 * @returns {Count}
 */
export function reconcile({ passed, failures }, { exitCode, output }) {
  if (failures.length > 0 || (exitCode === 0 && passed > 0)) return { passed, failures };
  return { passed, failures: [endOf(output, exitCode)] };
}

/** @type {(output: string, exitCode: number) => string} */
function endOf(output, exitCode) {
  const lines = output.trimEnd().split("\n").slice(-lastLines);
  return [exitCode === 0 ? "nothing was checked" : `exit code ${exitCode}`, ...lines].join("\n");
}
