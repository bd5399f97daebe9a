import { spawn } from "node:child_process";

/** A failed command, with its output. */
export class CommandError extends Error {
  /**
   * @param {string} command
   * @param {number | string} status
   * @param {string} output
   */
  constructor(command, status, output) {
    super(`${command} ended with ${status}:\n${output.trimEnd()}`);
    this.name = "CommandError";
    this.output = output;
  }
}

/**
 * Runs a command to its end and returns its output on both streams.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, timeoutMs?: number }} options
 * @returns {Promise<string>}
 */
export function runCommand(command, args, { cwd, timeoutMs = 300_000 }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: timeoutMs,
      killSignal: "SIGKILL",
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => (output += text));
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (code === 0) resolve(output);
      else reject(new CommandError([command, ...args].join(" "), code ?? `${signal}`, output));
    });
  });
}
