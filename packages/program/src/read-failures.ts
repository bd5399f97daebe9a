import { closeSync, existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type MemoryFailure, parseTrace, Trace, writeTrace } from "@remat/trace";
import { modelNames } from "./model-names.js";
import { heapReportName, type RunningStep, runningStepName, runningTraceName } from "./running-step.js";
import type { ProgramFailure, ThreadReport } from "./thread-report.js";

/** How a program ended. */
export interface ProgramDeath {
  readonly exitCode: number;
  readonly program: readonly string[];
  /**
   * How many processes the system killed for lack of memory while the program ran. Undefined if the system does not
   * count them.
   */
  readonly killed: number | undefined;
  /** Memory available to a process here. */
  readonly memoryBytes?: number | undefined;
}

/** Exit code after SIGKILL, as in a shell. */
const killedCode = 137;

/**
 * Adds out-of-memory failures to the reports of threads that could not report them themselves, along with the traces of
 * the interrupted steps.
 *
 * @internal
 */
export function withFailures(
  folder: string,
  reports: readonly ThreadReport[],
  death: ProgramDeath,
): readonly ThreadReport[] {
  if (death.exitCode === 0 && !reports.some(({ failure }) => failure !== undefined)) return reports;
  return reports.map((report) => {
    const path = (name: string): string => join(folder, `${report.pid}-${report.thread}-${name}`);
    const { failure: said } = report;
    const running = said === undefined ? readJson<RunningStep>(path(runningStepName)) : undefined;
    const cause = said ?? causeOf(path, report, death);
    if (cause === undefined) return report;
    const step = readStep(path(runningTraceName));
    const { opsBefore, op, askedBytes, ...told } = { heldBytes: 0, ...running, ...cause };
    // Otherwise the op that was reported as starting has finished, so the failure came after it, at its line or later.
    const isInOp = said !== undefined || opsBefore === step?.ops.count;
    const failure: ProgramFailure = {
      ...told,
      ...(isInOp && op !== undefined && { op }),
      ...(isInOp && askedBytes !== undefined && { askedBytes }),
      program: death.program,
    };
    if (step === undefined) return { ...report, failure };
    const file = path("failed.remat.jsonl");
    writeFailedStep(file, step, failure, death.memoryBytes);
    return { ...report, failure: { ...failure, file } };
  });
}

/** The cause for a thread that could not report it. */
function causeOf(
  path: (name: string) => string,
  { isOver }: ThreadReport,
  { exitCode, killed }: ProgramDeath,
): Pick<MemoryFailure, "cause" | "message"> | undefined {
  const heap = readJson<{ readonly header?: { readonly event?: string } }>(path(heapReportName))?.header?.event;
  if (heap !== undefined) return { cause: "heap", message: heap };
  if (isOver || exitCode !== killedCode || killed === 0) return undefined;
  return { cause: "system", message: describeKill(killed) };
}

function describeKill(killed: number | undefined): string {
  return killed === undefined
    ? "SIGKILL, probably because memory ran out"
    : "SIGKILL, and the system's count of out-of-memory kills rose by one";
}

/** Writes the interrupted step of a thread, complete up to its last op. */
function writeFailedStep(
  file: string,
  step: Trace,
  { heldBytes: _, file: __, ...failure }: ProgramFailure,
  memoryBytes: number | undefined,
): void {
  const model = modelNames(step);
  const header = {
    ...step.header,
    ...(step.header.device === "cpu" && memoryBytes !== undefined && { deviceMemoryBytes: memoryBytes }),
    ...(model !== undefined && { model }),
    failure,
  };
  const written = openSync(file, "w");
  try {
    // The part that is missing comes after the last op and is described by the header.
    for (const chunk of writeTrace(new Trace({ ...step, header, truncated: undefined })))
      for (let at = 0; at < chunk.length; ) at += writeSync(written, chunk, at);
  } finally {
    closeSync(written);
  }
}

function readStep(path: string): Trace | undefined {
  if (!existsSync(path)) return undefined;
  const bytes = readFileSync(path);
  if (bytes.length === 0) return undefined;
  const step = parseTrace(bytes, { damaged: "keep" });
  return step.ops.count === 0 ? undefined : step;
}

function readJson<T>(path: string): T | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as T;
  } catch {
    // There is no trace, or the process ended while writing it.
    return undefined;
  }
}
