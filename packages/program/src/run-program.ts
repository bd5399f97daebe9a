import { spawn } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { RematError } from "@remat/trace";
import { forwardSignals } from "./forward-signals.js";
import { countOomKills } from "./oom-kills.js";
import { programEnvironment } from "./program-environment.js";
import { makeProgramFolder } from "./program-folder.js";
import type { ProgramOrder } from "./program-order.js";
import { withFailures } from "./read-failures.js";
import type { ThreadReport } from "./thread-report.js";
import { watchRunner } from "./watch-runner.js";

/** How often reports are looked at while the program goes on. */
const lookEveryMs = 200;

export interface ProgramStart {
  /** The program and its arguments. */
  readonly command: readonly string[];
  readonly order: ProgramOrder;
  /** What it gets besides the environment of this process, such as `allocatorEnvironment()`. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Where its standard streams go: this process's, unless given. */
  readonly stdio?: "inherit" | ["ignore", "pipe", "pipe"];
  /** Told of the streams where they are pipes. */
  readonly onOutput?: (text: string, stream: "stdout" | "stderr") => void;
  /** Told several times a second, while the program goes on, what its threads report. */
  readonly onReports?: (reports: readonly ThreadReport[]) => void;
  /** Where it is aborted the program is interrupted, as by Ctrl-C. */
  readonly interrupt?: AbortSignal;
  /** The folder of `preload.cjs`, `agent.cjs` and `watcher.cjs`; beside this file, unless given. */
  readonly agentFolder?: string;
  /** Counts the processes that the system has killed for lack of memory; what Linux counts, unless given. */
  readonly countKills?: () => number | undefined;
}

/** What has come of a program. */
export interface ProgramEnd {
  /** Its exit code; 128 and the signal's number where a signal has ended it, as a shell has it. */
  readonly exitCode: number;
  /** Of each thread in which tfjs was loaded, in the order in which it was. */
  readonly reports: readonly ThreadReport[];
}

/**
 * Runs a program with our preload in all of its Node processes and threads, and calls `onEnd` with what has come of it, while the files that the
 * reports name are there. Signals to this process go to the program, which ends with it, however that ends.
 *
 * @throws RematError `PROGRAM_START` where the program cannot be started
 * @example
 * const order = { kind: "record", steps: 5, seconds: 60 } as const;
 * await runProgram({ command: ["node", "train.js"], order }, ({ reports }) => console.log(reports[0].recorded));
 */
export async function runProgram<T>(start: ProgramStart, onEnd: (end: ProgramEnd) => T | Promise<T>): Promise<T> {
  const { command, order, env = {}, cwd = process.cwd(), stdio = "inherit" } = start;
  const { agentFolder = fileURLToPath(new URL(".", import.meta.url)) } = start;
  const { countKills = countOomKills } = start;
  const folder = makeProgramFolder();
  try {
    const killedBefore = countKills();
    const [file, ...args] = command;
    const around = { ...process.env, ...env };
    const given = programEnvironment(around, join(agentFolder, "preload.cjs"), { ...order, folder });
    const child = spawn(file, args, { cwd, env: given, stdio });
    child.stdout?.setEncoding("utf8").on("data", (text: string) => start.onOutput?.(text, "stdout"));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => start.onOutput?.(text, "stderr"));
    const stopWatching = child.pid === undefined ? () => {} : watchRunner(child.pid, folder, agentFolder);
    const stopForwarding = forwardSignals(child);
    const interrupt = (): void => void child.kill("SIGINT");
    start.interrupt?.addEventListener("abort", interrupt);
    const { onReports } = start;
    const looking = onReports && setInterval(() => onReports(readReports(folder)), lookEveryMs);
    const exitCode = await new Promise<number>((resolve, reject) => {
      child.on("error", (cause) => reject(notStarted(file, cause)));
      child.on("close", (code, signal) => resolve(code ?? 128 + constants.signals[signal as NodeJS.Signals]));
    }).finally(() => {
      clearInterval(looking);
      start.interrupt?.removeEventListener("abort", interrupt);
      stopForwarding();
      stopWatching();
    });
    const killedAfter = countKills();
    const killed = killedBefore === undefined || killedAfter === undefined ? undefined : killedAfter - killedBefore;
    const memoryBytes = order.kind === "record" ? order.memoryBytes : undefined;
    const death = { exitCode, program: command, killed, memoryBytes };
    return await onEnd({ exitCode, reports: withFailures(folder, readReports(folder), death) });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readReports(folder: string): ThreadReport[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith("-report.json"))
    .flatMap((name) => {
      try {
        return [JSON.parse(readFileSync(join(folder, name), "utf8")) as ThreadReport];
      } catch {
        // The thread was killed while it wrote.
        return [];
      }
    })
    .sort((a, b) => a.startedAt - b.startedAt || a.thread - b.thread);
}

function notStarted(file: string, cause: unknown): RematError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const why = code === "ENOENT" ? "there is no such program" : message;
  return new RematError(
    "PROGRAM_START",
    `${file}: cannot be started (${why}). Expected a program as you would type it, such as: node train.js`,
    { cause },
  );
}
