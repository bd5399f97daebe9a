import { resolve } from "node:path";
import { type ExecOrder, runProgram } from "@remat/program";
import { readPlan } from "@remat/trace";
import { shell } from "@remat/trace/emit";
import { readInputText } from "@remat/trace/files";
import { type Command, defineCommand, grouped, type Invocation, type OptionValues, option } from "../command.js";
import { describeExecution, type GivenPlan, unplannedPasses } from "../program/describe-execution.js";
import { printFacts } from "../program/print-facts.js";
import { describeNothing, printLoss, programOf, trainingEnvironment } from "../program/program-command.js";
import { parseBudgetOption } from "../typed-quantities.js";
import { updateInBackwardOption, updatesInBackward } from "../update-in-backward-option.js";
import { parseText, UsageError } from "../usage-error.js";
import { rememberedMachines } from "../verdict/this-machine.js";

const options = [
  option("--budget <size>", {
    group: "usual",
    access: "data",
    purpose: "Memory that the tensors of a thread may use at once: 2GB, 512MiB, or 60% of the baseline",
  }),
  option("--plan <file>", {
    group: "usual",
    access: "file",
    reads: true,
    purpose: "A plan written by remat plan -o. Repeat the option for programs with several kinds of training steps",
    parse: (name, value) => [value].flat().map((path) => parseText(name, path)),
  }),
  option("--early-release", {
    group: "usual",
    access: "data",
    purpose: "Instead of --budget or --plan: free tensors early, without recomputation",
  }),
  ...grouped("usual", [updateInBackwardOption]),
];

export const execCommand: Command = defineCommand({
  options,
  examples: [
    "remat exec --budget 2GB -- node train.js",
    "remat exec --plan plan.1.json --plan plan.2.json -- node gan.js",
    "remat exec --early-release -- npx tsx train.ts",
  ],
  takesProgram: true,
  run: execute,
});

/** Runs an unmodified training program in less memory (`remat exec -- PROGRAM`). */
async function execute({ targets, options: given, io }: Invocation<typeof options>): Promise<number> {
  const command = programOf("exec", targets);
  const { order, plans } = execOptionsOf(given);
  return runProgram(
    { command, order, env: trainingEnvironment(), onLoss: printLoss(io) },
    ({ exitCode, reports, loss }) => {
      const told = reports.filter(({ passes, problem }) => passes > 0 || problem !== undefined);
      const machines = rememberedMachines();
      for (const report of told) {
        const isNext = report === told.at(-1) && unplannedPasses(report) > 0;
        const next = isNext ? shell.words(["remat", "record", "--", ...command]) : undefined;
        printFacts(describeExecution(report, { device: machines(report.device), plans, command: next }), io);
      }
      if (told.length === 0 && loss === undefined)
        printFacts({ facts: [describeNothing(command, exitCode, reports)] }, io);
      return exitCode;
    },
  );
}

interface ExecOptions {
  readonly order: ExecOrder;
  readonly plans: readonly GivenPlan[];
}

function execOptionsOf(given: OptionValues<typeof options>): ExecOptions {
  const { budget, plan: files = [], earlyRelease: isEarly } = given;
  const updateInBackward = updatesInBackward(given);
  const isElse = budget !== undefined || files.length > 0;
  if (isEarly === isElse)
    throw new UsageError(
      `${isEarly ? "--early-release cannot be combined with --budget or --plan" : "no limit was given"}. ` +
        "Pass --budget, --plan or both, or --early-release alone.",
    );
  if (budget !== undefined) parseBudgetOption("budget", budget);
  const plans = files.map((file) => ({ file, peakBytes: predictedBytes(file) }));
  return { order: { kind: "exec", budget, plans: files.map((file) => resolve(file)), updateInBackward }, plans };
}

/** Returns the peak that a plan predicts. The program itself reads the plan again. */
function predictedBytes(path: string): number {
  try {
    return readPlan(readInputText(path)).predicted.peakBytes;
  } catch (cause) {
    throw new UsageError(`--plan ${path}: ${(cause as Error).message}. Name a file written by remat plan -o.`);
  }
}
