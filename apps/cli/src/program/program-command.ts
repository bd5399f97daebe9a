import type { ThreadReport } from "@remat/program";
import type { ConsoleIo } from "../console-io.js";
import { allocatorEnvironment } from "../native/index.js";
import { UsageError } from "../usage-error.js";
import { printFacts } from "./print-facts.js";

/** Returns the program that a command has to run. */
export function programOf(command: string, program: readonly string[]): readonly string[] {
  if (program.length === 0)
    throw new UsageError(
      `no program to run. Write it after --, as you would type it: remat ${command} -- node train.js`,
    );
  return program;
}

/**
 * Additional environment variables of a program: the caching allocator, if it is built, which limits TensorFlow's
 * memory.
 */
export const trainingEnvironment = (): Readonly<Record<string, string>> => allocatorEnvironment();

/** Returns a function that reports, on one line, what remat could not write or read while a program ran. */
export const printLoss =
  (io: Pick<ConsoleIo, "stderr" | "width">) =>
  (line: string): void =>
    printFacts({ facts: [line] }, io);

/** Explains why nothing was recorded for a program that failed or was stopped. */
export function describeEarlyEnd(
  program: readonly string[],
  exitCode: number,
  steps: number,
  reports: readonly ThreadReport[],
): string {
  const ended = `${program.join(" ")}: ended with exit code ${exitCode}`;
  if (reports.length === 0) return `${ended} before it reported anything, so nothing is recorded.`;
  const fewer = steps > 1 ? " To record only the first, add --steps 1." : "";
  return `${ended} before ${steps === 1 ? "a training step" : `${steps} training steps of one kind`} finished, so nothing is recorded.${fewer}`;
}

/** Reports that a program did not load a supported TensorFlow.js, with the next step. */
export function describeNoTensorFlow(program: readonly string[]): string {
  return (
    `${program.join(" ")}: did not load TensorFlow.js in any Node process. ` +
    "Run a Node program that imports @tensorflow/tfjs from node_modules, not from a bundle or in a browser"
  );
}

/** Reports on a program that loaded TensorFlow.js and was killed before anything else was known. */
export const describeNothingKnown = (program: readonly string[], { version }: Pick<ThreadReport, "version">): string =>
  `${program.join(" ")}: loaded TensorFlow.js ${version} and ended before its tensors were recorded. Let it run longer`;

/**
 * Describes how old a thread's figures are if it did not report its end, so that they are not mistaken for final ones.
 * Undefined if it did report its end.
 */
export function describeKilled(
  { isOver, writtenAt }: Pick<ThreadReport, "isOver" | "writtenAt">,
  now: number = Date.now(),
): string | undefined {
  if (isOver) return undefined;
  const ms = Math.max(0, now - writtenAt);
  return `This thread was killed or crashed. The figures are from ${(ms / 1000).toFixed(1)} s before the program ended.`;
}

/** Explains in one sentence why a program gave no results, with the next step. */
export function describeNothing(
  program: readonly string[],
  exitCode: number,
  reports: readonly ThreadReport[],
): string {
  const shown = program.join(" ");
  const problem = reports.find(({ problem }) => problem !== undefined)?.problem;
  if (problem !== undefined) return problem;
  if (reports.length === 0 && exitCode !== 0)
    return `${shown}: ended with exit code ${exitCode} before it completed a training step. Fix that error, or let it run until its first step is complete`;
  if (reports.length === 0) return describeNoTensorFlow(program);
  return (
    `${shown}: loaded TensorFlow.js ${reports[0].version}, but ran no training step. ` +
    "Call optimizer.minimize, applyGradients, model.fit, trainOnBatch or variableGrads"
  );
}
