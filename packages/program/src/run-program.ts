import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { RematError } from "@remat/trace";
import { describeNoFolder } from "./describe-failed-operation.js";
import { forwardSignals } from "./forward-signals.js";
import { Losses } from "./losses.js";
import { countOomKills } from "./oom-kills.js";
import { programEnvironment } from "./program-environment.js";
import { makeProgramFolder } from "./program-folder.js";
import type { ProgramOrder } from "./program-order.js";
import { type ProgramDeath, withFailures } from "./read-failures.js";
import type { ThreadReport } from "./thread-report.js";
import { watchRunner } from "./watch-runner.js";

/** Interval at which reports are read while the program runs. */
const lookEveryMs = 200;

/** A program to run, and what to do with it. */
export interface ProgramStart {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** The work of remat in the program's threads. */
  readonly order: ProgramOrder;
  /** Variables added to this process's environment, such as `allocatorEnvironment()`. */
  readonly env?: Readonly<Record<string, string>>;
  /** The program's working directory. Default: that of this process. */
  readonly cwd?: string;
  /** Where the program's standard streams go. Default: to those of this process. */
  readonly stdio?: "inherit" | ["ignore", "pipe", "pipe"];
  /** Called with the output if the streams are pipes. */
  readonly onOutput?: (text: string, stream: "stdout" | "stderr") => void;
  /** Called several times per second with the reports of the program's threads while it runs. */
  readonly onReports?: (reports: readonly ThreadReport[]) => void;
  /** Called once if remat could not write or read some data. The line names the data and what to do. */
  readonly onLoss?: (line: string) => void;
  /** Aborting this interrupts the program, like Ctrl-C. */
  readonly interrupt?: AbortSignal;
  /** The folder with `preload.cjs`, `agent.cjs` and `watcher.cjs`. Default: the folder of this package's own code. */
  readonly agentFolder?: string;
  /** Counts the processes that the system has killed for lack of memory. The default is Linux's own count. */
  readonly countKills?: () => number | undefined;
}

/** The result of running a program. */
export interface ProgramEnd {
  /** Exit code of the program. If a signal ended it, this is 128 plus the signal's number, as in a shell. */
  readonly exitCode: number;
  /** Reports of the threads that loaded TensorFlow.js, in the order in which they loaded it. */
  readonly reports: readonly ThreadReport[];
  /**
   * One line that names the data that remat could not write or read. Left out if the reports are complete. The program
   * itself ran in the same way as without remat.
   */
  readonly loss?: string;
}

/**
 * Runs a program with the preload in all of its Node processes and threads. Calls `onEnd` with the result while the
 * files that the reports name still exist. Signals to this process are forwarded to the program. If this process ends
 * in any way, the program ends as well.
 *
 * @throws RematError `PROGRAM_START` if the program cannot be started
 * @example
 * const order = { kind: "record", steps: 5, seconds: 60 } as const;
 * await runProgram({ command: ["node", "train.js"], order }, ({ reports }) => console.log(reports[0].recorded));
 */
export async function runProgram<T>(start: ProgramStart, onEnd: (end: ProgramEnd) => T | Promise<T>): Promise<T> {
  const { command, order, env = {}, cwd = process.cwd(), stdio = "inherit" } = start;
  const { agentFolder = fileURLToPath(new URL(".", import.meta.url)) } = start;
  const { countKills = countOomKills } = start;
  const [file, ...args] = command;
  if (file === undefined)
    throw new RematError("PROGRAM_START", "the command is empty. Name a program to run, such as node train.js.");
  const made = tryMakeFolder();
  const folder = typeof made === "string" ? made : undefined;
  const losses = folder === undefined ? undefined : new Losses(folder);
  let loss = folder === undefined ? describeNoFolder(tmpdir(), made, order) : undefined;
  if (loss !== undefined) start.onLoss?.(loss);
  const around = { ...process.env, ...env };
  // Without a folder there is nowhere to put recordings or reports, so the program runs without the agent.
  const isAlone = folder === undefined && order.kind !== "exec";
  const preload = join(agentFolder, "preload.cjs");
  const given = isAlone ? around : programEnvironment(around, preload, { ...order, folder, runner: process.pid });
  try {
    const killedBefore = countKills();
    const child = startProgram(file, args, { cwd, env: given, stdio });
    const output = (stream: "stdout" | "stderr") => (text: string) =>
      unlessItFails(() => start.onOutput?.(text, stream));
    child.stdout?.setEncoding("utf8").on("data", output("stdout"));
    child.stderr?.setEncoding("utf8").on("data", output("stderr"));
    const stopWatching = child.pid === undefined ? () => {} : watchRunner(child.pid, folder, agentFolder);
    const stopForwarding = forwardSignals(child);
    const interrupt = (): void => void child.kill("SIGINT");
    start.interrupt?.addEventListener("abort", interrupt);
    const { onReports } = start;
    const look = (): void => unlessItFails(() => folder !== undefined && onReports?.(readReports(folder, () => {})));
    const looking = onReports && setInterval(look, lookEveryMs);
    const exitCode = await new Promise<number>((resolve, reject) => {
      child.on("error", (cause) => reject(notStarted(file, cause)));
      child.on("close", (code, signal) => resolve(code ?? 128 + constants.signals[signal as NodeJS.Signals]));
    }).finally(() => {
      clearInterval(looking);
      start.interrupt?.removeEventListener("abort", interrupt);
      stopForwarding();
      stopWatching();
    });
    // A signal that a thread sent before its end may still be on its way.
    await new Promise((resolve) => setImmediate(resolve));
    const killedAfter = countKills();
    const killed = killedBefore === undefined || killedAfter === undefined ? undefined : killedAfter - killedBefore;
    const memoryBytes = order.kind === "record" ? order.memoryBytes : undefined;
    const death = { exitCode, program: command, killed, memoryBytes };
    const reports = folder === undefined || losses === undefined ? [] : readAll(folder, death, losses);
    if (loss === undefined) {
      loss = losses?.describe(reports);
      if (loss !== undefined) start.onLoss?.(loss);
    }
    return await onEnd({ exitCode, reports, ...(loss !== undefined && { loss }) });
  } finally {
    losses?.close();
    if (folder !== undefined) remove(folder);
  }
}

/** Returns the folder, or the reason why none exists. */
function tryMakeFolder(): unknown {
  try {
    return makeProgramFolder();
  } catch (cause) {
    return cause;
  }
}

function remove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // The next run removes any remains of this one.
  }
}

/**
 * Ignores an error while the program runs, so that it is not ended. A lost terminal or folder is reported at the end.
 */
function unlessItFails(act: () => unknown): void {
  try {
    act();
  } catch {
    // The failure is reported at the end.
  }
}

function startProgram(file: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  try {
    return spawn(file, args, options);
  } catch (cause) {
    throw notStarted(file, cause);
  }
}

function readAll(folder: string, death: ProgramDeath, losses: Losses): readonly ThreadReport[] {
  const note = (path: string, error: unknown): void => losses.note(path, error);
  const reports = losses.attempt(folder, () => readReports(folder, note)) ?? [];
  return losses.attempt(folder, () => withFailures(folder, reports, death)) ?? reports;
}

/** @throws the system's error if the folder cannot be read */
function readReports(folder: string, failed: (path: string, error: unknown) => void): ThreadReport[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith("-report.json"))
    .flatMap((name) => {
      const path = join(folder, name);
      try {
        return [JSON.parse(readFileSync(path, "utf8")) as ThreadReport];
      } catch (error) {
        failed(path, error);
        return [];
      }
    })
    .sort((a, b) => a.startedAt - b.startedAt || a.thread - b.thread);
}

function notStarted(file: string, cause: unknown): RematError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const why = code === "ENOENT" ? "no such program" : message;
  const next =
    code === "EMFILE" || code === "ENFILE"
      ? "Allow more open files: ulimit -n 1024."
      : "Write the program as you would type it, such as: node train.js";
  return new RematError("PROGRAM_START", `${file}: cannot be started (${why}). ${next}`, { cause });
}
