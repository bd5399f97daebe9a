import type { TerminalOptions } from "./app/run-terminal.js";

/**
 * Runs the terminal app until it is left. `stdin` and `stdout` must be a terminal. However it ends, by a key, a signal or a failure, the
 * terminal is as it was before.
 *
 * @throws whatever made it fail, once the terminal is restored
 * @example
 * await startTerminal({ targets: ["run.remat.jsonl"], open, examples: [], device: "a100", env: process.env, stdin: process.stdin, stdout: process.stdout, folder: "." });
 */
export async function startTerminal(options: TerminalOptions): Promise<void> {
  // React decides by this, when it is loaded, whether to watch itself at work, which makes it several times slower.
  process.env["NODE_ENV"] ??= "production";
  const { runTerminal } = await import("./app/run-terminal.js");
  await runTerminal(options);
}
