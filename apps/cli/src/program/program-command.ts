import type { ThreadReport } from "@remat/program";
import type { ConsoleIo } from "../console-io.js";
import { allocatorEnvironment } from "../native/index.js";
import { UsageError } from "../usage-error.js";
import { tellFacts } from "./tell-facts.js";

/** Returns the program that a command is to run. */
export function programOf(command: string, program: readonly string[]): readonly string[] {
  if (program.length === 0)
    throw new UsageError(
      `there is no program to run. Expected one behind --, as you would type it: remat ${command} -- node train.js`,
    );
  return program;
}

/** What a program gets besides the user's environment: what keeps TensorFlow's memory from growing, where it is built. */
export const trainingEnvironment = (): Readonly<Record<string, string>> => allocatorEnvironment();

/** Returns what tells in a line what remat could not write or read while a program ran. */
export const tellLoss =
  (io: Pick<ConsoleIo, "stderr" | "width">) =>
  (line: string): void =>
    tellFacts({ facts: [line] }, io);

/** Tells why nothing was recorded of a program that failed, or that somebody has ended. */
export function describeEarlyEnd(
  program: readonly string[],
  exitCode: number,
  steps: number,
  reports: readonly ThreadReport[],
): string {
  const ended = `${program.join(" ")}: ended with exit code ${exitCode}`;
  if (reports.length === 0) return `${ended} before anything was heard of it: nothing is recorded`;
  const fewer = steps > 1 ? "; --steps 1 asks for the first alone" : "";
  return `${ended} before ${steps === 1 ? "a training step was" : `${steps} training steps of one kind were`} over: nothing is recorded${fewer}`;
}

/** Tells of a program that has loaded no TensorFlow.js that could be watched, with the next step. */
export function describeNoTensorFlow(program: readonly string[]): string {
  return `${program.join(" ")}: has not loaded TensorFlow.js in any Node process. Expected a Node program that imports @tensorflow/tfjs from node_modules, not from a bundle or a browser; see that it is started by what is typed behind --`;
}

/** Reports on a program that loaded TensorFlow.js and was killed before anything else was known of it. */
export const describeNothingKnown = (program: readonly string[], { version }: Pick<ThreadReport, "version">): string =>
  `${program.join(" ")}: loaded TensorFlow.js ${version} and ended before anything was known of its tensors. Let it run longer`;

/** Says how old the figures of a thread are that did not report its end, so that they are not taken for its last; undefined if it did. */
export function describeKilled(
  { isOver, writtenAt }: Pick<ThreadReport, "isOver" | "writtenAt">,
  now: number = Date.now(),
): string | undefined {
  if (isOver) return undefined;
  const ms = Math.max(0, now - writtenAt);
  return `this thread was killed or crashed: the figures are from ${(ms / 1000).toFixed(1)} s before the program ended`;
}

/** Tells why nothing came of a program: one sentence, with the next step. */
export function describeNothing(
  program: readonly string[],
  exitCode: number,
  reports: readonly ThreadReport[],
): string {
  const shown = program.join(" ");
  const problem = reports.find(({ problem }) => problem !== undefined)?.problem;
  if (problem !== undefined) return problem;
  if (reports.length === 0 && exitCode !== 0)
    return `${shown}: ended with exit code ${exitCode} before anything was heard of it. Where it trains, let it go on until its first step is over`;
  if (reports.length === 0) return describeNoTensorFlow(program);
  return `${shown}: has loaded TensorFlow.js ${reports[0].version}, but taken no training step. Expected optimizer.minimize, applyGradients, model.fit, trainOnBatch or variableGrads to run`;
}
