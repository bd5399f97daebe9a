import { spawn } from "node:child_process";
import { reconcile } from "./count-checks.js";

/**
 * A stage: a command, and how to count its checks.
 *
 * @typedef {object} Stage
 * @property {string} name
 * @property {readonly string[]} command
 * @property {() => Readonly<Record<string, string>>} [env] additional variables, computed when it begins
 * @property {boolean} [isAlone] inherits only PATH from the environment
 * @property {number} [timeoutMs] if it may take longer than others
 * @property {(run: { exitCode: number, output: string }) => import("./count-checks.js").Count} count
 */

const ansi = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, "g");

/**
 * Runs a stage and prefixes its output with its name, so that stages may run at once and no line can be mistaken for
 * the total.
 *
 * @param {Stage} stage
 * @param {{ cwd: string, timeoutMs: number, print: (line: string) => void }} options
 * @returns {Promise<import("./count-checks.js").Count>}
 */
export async function runStage(stage, { cwd, timeoutMs, print }) {
  const start = performance.now();
  print(`── ${stage.name}: ${stage.command.join(" ")}`);
  const margin = `   ${stage.name} │ `;
  const [command, ...args] = stage.command;
  const child = spawn(command, args, {
    cwd,
    env: { ...(stage.isAlone === true ? { PATH: process.env.PATH } : process.env), ...stage.env?.() },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: stage.timeoutMs ?? timeoutMs,
    killSignal: "SIGKILL",
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    let rest = "";
    stream.setEncoding("utf8").on("data", (text) => {
      const lines = (rest + text.replaceAll(ansi, "")).split("\n");
      rest = /** @type {string} */ (lines.pop());
      for (const line of lines) {
        output += `${line}\n`;
        print(`${margin}${line}`);
      }
    });
    stream.on("end", () => {
      if (rest === "") return;
      output += `${rest}\n`;
      print(`${margin}${rest}`);
    });
  }
  const exitCode = await new Promise((resolve) => {
    child.on("error", (error) => {
      print(`${margin}${error.message}`);
      resolve(127);
    });
    child.on("close", (code, signal) => {
      if (signal !== null) print(`   │ ended by ${signal}`);
      resolve(code ?? 1);
    });
  });
  /** @type {import("./count-checks.js").Count} */
  let count = { passed: 0, failures: [] };
  try {
    count = stage.count({ exitCode, output });
  } catch (error) {
    print(`${margin}${stage.name} could not be counted: ${error}`);
  }
  const { passed, failures } = reconcile(count, { exitCode, output });
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  print(`── ${stage.name}: ${passed} passed, ${failures.length} failed in ${seconds} s`);
  return { passed, failures };
}
