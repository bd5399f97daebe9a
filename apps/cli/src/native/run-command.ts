import { spawn } from "node:child_process";
import type { Environment } from "@remat/dispatch-hook/backends/node";

/** Result of a command. `code` is undefined if the command does not exist. */
export interface CommandResult {
  readonly code: number | undefined;
  /** The signal that ended it. */
  readonly signal: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd?: string;
  /** The complete environment, including the search path for the command. */
  readonly env: Environment;
}

/** Runs a command without a shell and without standard input. A failure is returned as a result, not thrown. */
export function runCommand(
  command: string,
  args: readonly string[],
  { cwd, env }: CommandOptions,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: ["ignore", "pipe", "pipe"],
      cwd,
      env: { ...env },
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.on("error", ({ message }) => resolve({ code: undefined, signal: undefined, stdout, stderr: message }));
    child.on("close", (code, signal) => resolve({ code: code ?? -1, signal: signal ?? undefined, stdout, stderr }));
  });
}

/**
 * Returns the lines of a command's output that explain its failure: those with the word error, otherwise the last few.
 */
export function failureText({ stdout, stderr, signal }: CommandResult): string {
  const lines = (stderr.trim() === "" ? stdout : stderr)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const telling = lines.filter((line) => /error|undefined symbol|cannot open/i.test(line));
  const text = (telling.length > 0 ? telling.slice(0, 3) : lines.slice(-3)).join("; ").slice(0, 600);
  return `${signal === undefined ? "" : `ended by ${signal}${text === "" ? "" : "; "}`}${text}`;
}
