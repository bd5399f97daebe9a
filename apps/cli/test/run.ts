import { runCli } from "../src/cli.js";
import type { ConsoleIo } from "../src/console-io.js";

export interface CliRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `remat` in this process, with no terminal. */
export async function remat(...args: string[]): Promise<CliRun> {
  return rematIn({}, ...args);
}

/** Runs `remat` in this process, with some properties of its console given, such as width or colours. */
export async function rematIn(io: Partial<ConsoleIo>, ...args: string[]): Promise<CliRun> {
  let stdout = "";
  let stderr = "";
  const code = await runCli(args, {
    stdout: { write: (text) => (stdout += Buffer.from(text).toString()) },
    stderr: { write: (text) => (stderr += text) },
    env: {},
    ...io,
  });
  return { code, stdout, stderr };
}
