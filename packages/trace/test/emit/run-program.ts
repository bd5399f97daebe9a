import { spawnSync } from "node:child_process";

/** The answer of a program to `input`, with one process for many questions; undefined if the program does not exist. */
export function answerOf(program: string, args: readonly string[], input: string): string | undefined {
  const { error, status, stdout, stderr } = spawnSync(program, args, {
    input,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    timeout: 60_000,
  });
  if ((error as NodeJS.ErrnoException | undefined)?.code === "ENOENT") return undefined;
  if (error !== undefined || status !== 0)
    throw new Error(`${program} ended with ${status}: ${stderr}`, { cause: error });
  return stdout;
}

/** Fails in CI, and says elsewhere, that an oracle is missing. */
export function missing(program: string): void {
  if (process.env["CI"] === "true") throw new Error(`${program} is missing: what it would judge is not tested`);
  console.error(`${program} is missing: what it would judge is not tested`);
}
