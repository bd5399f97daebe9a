import { runCli } from "../src/cli.js";

export interface CliRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `remat` in this process, with no terminal. */
export async function remat(...args: string[]): Promise<CliRun> {
  let stdout = "";
  let stderr = "";
  const log = console.log;
  // cac prints help and version by console.
  console.log = (...parts: unknown[]) => {
    stdout += `${parts.join(" ")}\n`;
  };
  console.info = console.log;
  try {
    const code = await runCli(args, {
      stdout: { write: (text) => (stdout += Buffer.from(text).toString()) },
      stderr: { write: (text) => (stderr += text) },
      env: {},
    });
    return { code, stdout, stderr };
  } finally {
    console.log = log;
    console.info = log;
  }
}
