import type { TerminalOptions } from "./app/run-terminal.js";

/**
 * Runs the terminal app until it is closed. `stdin` and `stdout` must be a terminal. However it ends, by a key, a
 * signal or a failure, the terminal is restored.
 *
 * @throws the error that ended it, after the terminal is restored
 * @example
 * const { env, stdin, stdout } = process;
 * const targets = ["run.remat.jsonl"];
 * await startTerminal({ targets, open, examples: [], device: "a100", env, stdin, stdout, folder: "." });
 */
export async function startTerminal(options: TerminalOptions): Promise<void> {
  // React reads this when it is loaded. Its development mode is several times slower.
  process.env["NODE_ENV"] ??= "production";
  const { runTerminal } = await import("./app/run-terminal.js");
  await runTerminal(options);
}
