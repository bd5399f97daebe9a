import { createReadStream } from "node:fs";
import { pipeline } from "node:stream";
import { createGzip } from "node:zlib";
import { type ProgramFailure, type RecordedStep, runProgram } from "@remat/program";
import { formatBytes, formatMs } from "@remat/reporting";
import { type Facts } from "@remat/reporting/verdict";
import { RematError, readTrace } from "@remat/trace";
import { shell } from "@remat/trace/emit";
import { openInput } from "@remat/trace/files";
import { type Command, defineCommand, type Invocation } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { failedPath, numberedPath, planFileOf } from "../numbered-path.js";
import { checkFor, writeFor } from "../output.js";
import { describeFailure } from "../program/describe-failure.js";
import { judgeRecorded } from "../program/judge-recorded.js";
import { printFacts } from "../program/print-facts.js";
import {
  describeEarlyEnd,
  describeNothing,
  printLoss,
  programOf,
  trainingEnvironment,
} from "../program/program-command.js";
import { recordOptionsOf, recordProgramOptions } from "../program/record-options.js";
import { thisMachine } from "../verdict/this-machine.js";
import { isArrowName, writeTraceFile } from "../write-trace-file.js";

export const recordCommand: Command = defineCommand({
  options: recordProgramOptions,
  examples: [
    "remat record -- node train.js",
    "remat record -o run.remat.jsonl.gz --steps 3 -- npx tsx train.ts",
    "remat record --seconds 300 -- node gan.js",
  ],
  takesProgram: true,
  run: record,
});

/** Runs an unmodified training program and writes its first training steps as traces (`remat record -- PROGRAM`). */
async function record({ targets, options, io }: Invocation<typeof recordProgramOptions>): Promise<number> {
  const command = programOf("record", targets);
  const { order: asked, output } = recordOptionsOf(options, command);
  const { memoryBytes } = thisMachine();
  const order = { ...asked, memoryBytes };
  checkFor("--output", output);
  const start = { command, order, env: trainingEnvironment(), onLoss: printLoss(io) };
  return runProgram(start, async ({ exitCode, reports, loss }) => {
    const steps = reports.flatMap(({ recorded = [] }) => recorded);
    if (steps.length === 0 && loss !== undefined) return exitCode;
    // If the program failed, its failure is the result.
    if (steps.length === 0 && exitCode === 0)
      throw new RematError("PROGRAM_STEPS", describeNothing(command, exitCode, reports));
    const failures = reports.flatMap(({ failure }) => failure ?? []);
    if (steps.length === 0 && failures.length === 0)
      printFacts({ facts: [describeEarlyEnd(command, exitCode, order.steps, reports)] }, io);
    for (const [index, failure] of failures.entries())
      await reportFailure(failure, numberedPath(failedPath(output), index, failures.length), io, order.steps);
    const plans: string[] = [];
    for (const [index, step] of steps.entries()) {
      const path = numberedPath(output, index, steps.length);
      await writeRecorded(step.file, path, io);
      printFacts(describeStep(path, step), io);
      const plan = planFileOf(path);
      const verdict = await judgeRecorded(step.file, path);
      if (verdict !== undefined) printFacts(verdict, io);
      if (verdict?.command?.includes(` -o ${plan}`)) plans.push(plan);
    }
    if (plans.length > 1) printFacts(describeFollowing(plans, command), io);
    if (plans.length > 0) printFacts(describeReleasing(command), io);
    return exitCode;
  });
}

/** Explains why a thread ran out of memory, and writes the trace of the interrupted step. */
export async function reportFailure(
  failure: ProgramFailure,
  path: string,
  io: ConsoleIo,
  recorded?: number,
): Promise<void> {
  if (failure.file === undefined) return printFacts(describeFailure(failure, recorded), io);
  await writeRecorded(failure.file, path, io);
  const verdict = await judgeRecorded(failure.file, path);
  const [first, ...facts] = verdict!.facts;
  printFacts({ facts: [first, `The step up to there is in ${path}.`, ...facts], command: verdict!.command }, io);
}

/** Writes a recorded trace, which is in JSON Lines, in the format that the name of the output file asks for. */
export async function writeRecorded(file: string, path: string, io: ConsoleIo): Promise<void> {
  if (isArrowName(path)) await writeTraceFile(await readTrace(openInput(file)), path, io, "--output");
  else await writeFor("--output", path, contentOf(file, path.endsWith(".gz")), io);
}

/**
 * Returns the content of a file, which is opened on first read. If the output cannot be written, the file is deleted
 * without being read.
 */
async function* contentOf(path: string, zips: boolean): AsyncGenerator<Uint8Array> {
  const file = createReadStream(path);
  yield* zips ? pipeline(file, createGzip(), () => {}) : file;
}

/** Returns how to run a program with several plans, each for some of its passes. */
export function describeFollowing(plans: readonly string[], program: readonly string[]): Facts {
  const options = plans.flatMap((plan) => ["--plan", plan]);
  const command = shell.words(["remat", "exec", ...options, "--", ...program]);
  return { facts: ["To run with all plans, each for its own passes:", command], command };
}

/** Returns how to run a program with less memory before anything is planned. */
export function describeReleasing(program: readonly string[]): Facts {
  const command = shell.words(["remat", "exec", "--early-release", "--", ...program]);
  return { facts: ["To use less memory without a plan or recomputation:", command], command };
}

/** Describes the recording of a step and where it is. */
export function describeStep(
  path: string,
  { model, optimizer, steps, alike, ops, peakBytes, mostBytes, stepMs }: RecordedStep,
): Facts {
  const whose = [model, optimizer].filter((name) => name !== undefined).join(" by ");
  const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;
  const most = mostBytes > peakBytes ? `, one of them with a peak of ${formatBytes(mostBytes)}` : "";
  const others = alike < steps ? `; ${count(steps - alike, "other")} ran other ops${most}` : "";
  const median = alike === 1 ? "1 step" : `median of ${alike} steps`;
  return {
    facts: [
      `${path}: ${whose === "" ? "a step" : whose}, ${count(ops, "op")}, ${formatMs(stepMs)} while recorded (${median}${others}).`,
    ],
  };
}
