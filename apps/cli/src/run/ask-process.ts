import { type ChildProcess, fork } from "node:child_process";
import { basename, extname } from "node:path";
import { type ErrorCode, RematError } from "@remat/trace";
import type { Answer } from "./serve-job.js";
import { trainingProcess } from "./training-process.js";

export interface AskOptions {
  readonly onProgress?: (text: string) => void;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Called with the process as soon as it exists. */
  readonly onStart?: (child: ChildProcess) => void;
}

/**
 * Runs one job in a new process of the program `path`, which calls `serveJob`, so that its memory and modules are
 * separate. It ends with this process.
 *
 * @throws RematError of the job, or `PROCESS_DIED`
 */
export async function askProcess<Job extends object, Result>(
  path: string,
  job: Job,
  { onProgress, env, onStart }: AskOptions = {},
): Promise<Result> {
  const training = trainingProcess();
  const child = fork(path, {
    execArgv: [...training.execArgv],
    // JSON lacks some numbers (a NaN loss) and typed arrays.
    serialization: "advanced",
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    env: { ...training.env, ...env },
  });
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-2000);
  });
  onStart?.(child);
  try {
    return await new Promise<Result>((resolve, reject) => {
      child.on("message", (answer: Answer<Result>) => {
        if ("progress" in answer) onProgress?.(answer.progress);
        else if ("result" in answer) resolve(answer.result);
        else reject(errorOf(answer.error));
      });
      child.on("error", reject);
      child.on("exit", (code, signal) => reject(died(path, code, signal, stderr)));
      child.send(job);
    });
  } finally {
    process.off("exit", kill);
    if (child.exitCode === null) child.kill("SIGKILL");
  }
}

function errorOf({ code, message, stack }: { code: ErrorCode | undefined; message: string; stack: string }): Error {
  const error = code === undefined ? new Error(message) : new RematError(code, message);
  error.stack = stack;
  return error;
}

function died(path: string, code: number | null, signal: NodeJS.Signals | null, stderr: string): RematError {
  const last = stderr.trim().split("\n").at(-1) ?? "";
  const how = signal === null ? `ended with exit code ${code}` : `was killed by ${signal}`;
  const memory = signal === "SIGKILL" ? " The system may have run out of memory. Lower --budget or --batch." : "";
  return new RematError(
    "PROCESS_DIED",
    `${basename(path, extname(path)).replace("-", " ")} ${how} before it answered${last === "" ? "" : `: ${last}`}.${memory}`,
  );
}
