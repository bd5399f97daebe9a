import { existsSync, statSync } from "node:fs";
import { describeLeaks, growing, type LeakSubject } from "@remat/leaks";
import { runProgram, type ThreadReport } from "@remat/program";
import { isGrowing, leaksDocument, leaksFacts, summarizeLeaks } from "@remat/reporting/documents";
import { deviceToFit } from "@remat/reporting/verdict";
import { type TerminalText, terminal } from "@remat/trace/emit";
import { type Command, defineCommand, grouped, type Invocation } from "../command.js";
import { formatOption, unitsOption } from "../format-option.js";
import { loadTrace } from "../load-trace.js";
import { modelOptionsOf } from "../model-options.js";
import { isOf, type ModelSource, modelSource } from "../model-source.js";
import { deviceOption, pricingOf } from "../pricing-options.js";
import {
  describeKilled,
  describeNoTensorFlow,
  describeNothingKnown,
  printLoss,
  programOf,
  trainingEnvironment,
} from "../program/program-command.js";
import { Progress } from "../progress.js";
import { UsageError } from "../usage-error.js";
import { withFactsFirst } from "../verdict/show-verdict.js";
import { rememberedMachines } from "../verdict/this-machine.js";

const options = [
  ...grouped("usual", [
    {
      ...deviceOption,
      purpose: "Device, to predict when its memory is full: a name (a100, h100, rtx-4090, …) or a JSON file",
    },
    formatOption,
  ]),
  unitsOption,
];

export const leaksCommand: Command = defineCommand({
  options,
  examples: ["remat leaks -- node app.js", "remat leaks -- npx tsx serve.ts", "remat leaks train.remat.jsonl"],
  takes: ["run"],
  takesProgram: true,
  run: (invocation) => {
    const source = recordedIn(invocation.targets);
    return source === undefined ? findLeaks(invocation) : showLeaks(source, invocation);
  },
});

/** Runs an unmodified program and reports the lines whose tensors outlive their step (`remat leaks -- PROGRAM`). */
async function findLeaks({ targets, options: given, io }: Invocation<typeof options>): Promise<number> {
  const command = programOf("leaks", targets);
  if (given.format.name !== "table")
    throw new UsageError("--format is for traces only; leaks of a program are printed as lines. Remove --format.");
  const { device, isAsked } = pricingOf(given);
  const machines = rememberedMachines();
  const start = { command, order: { kind: "leaks" }, env: trainingEnvironment(), onLoss: printLoss(io) } as const;
  return runProgram(start, ({ exitCode, reports, loss }) => {
    const machineOf = (on: string | undefined) => (isAsked ? device : machines(on));
    const { text, grows, isWatched } = reportLeaks(command, reports, machineOf, exitCode);
    if (isWatched || loss === undefined) io.stderr.write(text);
    // A program that was not watched cannot be reported as leak-free.
    return exitCode === 0 && (grows || !isWatched) ? 1 : exitCode;
  });
}

/** Shows the storages of a trace that outlive its steps (`remat leaks TRACE`). */
async function showLeaks(source: ModelSource, { options: given, io }: Invocation<typeof options>): Promise<number> {
  const { format, units } = given;
  const { device, isAsked } = pricingOf(given);
  const progress = new Progress(io);
  try {
    const trace = await loadTrace(source, modelOptionsOf({}), progress, { damaged: "keep" });
    const summary = summarizeLeaks(trace, withMemory(deviceToFit(trace, device, isAsked)));
    progress.clear();
    io.stdout.write(withFactsFirst(leaksDocument(summary, units), leaksFacts(summary, units), format, io));
    return isGrowing(summary) ? 1 : 0;
  } finally {
    progress.clear();
  }
}

/** The trace, if one is given in place of a program. */
function recordedIn(targets: readonly string[]): ModelSource | undefined {
  const [target, ...rest] = targets;
  if (rest.length > 0 || target === undefined || !existsSync(target) || !statSync(target).isFile()) return undefined;
  try {
    const source = modelSource(target);
    return isOf(source, "run") ? source : undefined;
  } catch {
    // Anything that is not a model is a program.
    return undefined;
  }
}

function withMemory({
  name,
  memoryBytes,
}: {
  readonly name: string;
  readonly memoryBytes?: number;
}): LeakSubject["device"] {
  return memoryBytes === undefined ? undefined : { name, memoryBytes };
}

/**
 * Returns the report on a program's threads, growing ones first. Also returns whether any grows, and whether any was
 * watched.
 */
export function reportLeaks(
  command: readonly string[],
  reports: readonly ThreadReport[],
  deviceOf: (device: string | undefined) => { readonly name: string; readonly memoryBytes?: number },
  exitCode = 0,
): { readonly text: TerminalText; readonly grows: boolean; readonly isWatched: boolean } {
  const grows = ({ leaks }: ThreadReport): boolean => leaks !== undefined && growing(leaks).length > 0;
  const worked = reports.filter(({ leaks }) => leaks === undefined || leaks.count > 0 || leaks.periods.length > 0);
  const told = (worked.length > 0 ? worked : reports).toSorted((a, b) => Number(grows(b)) - Number(grows(a)));
  const lines = told.flatMap((report) => {
    const { thread, problem, leaks, device } = report;
    const where = thread === 0 ? "" : `worker ${thread}: `;
    if (leaks === undefined) return problem === undefined ? [] : [problem];
    const [verdict, ...rest] = describeLeaks(leaks, { device: withMemory(deviceOf(device)), exitCode });
    const killed = describeKilled(report);
    return [`${where}${verdict}`, ...[...rest, ...(killed === undefined ? [] : [killed])].map((line) => `  ${line}`)];
  });
  const nothing = reports.length === 0 ? describeNoTensorFlow(command) : describeNothingKnown(command, reports[0]);
  return {
    text: terminal.lines(
      (lines.length > 0 ? lines : [nothing]).map((line) =>
        line.startsWith(" ") ? `       ${line.slice(2)}` : `remat: ${line}`,
      ),
    ),
    grows: reports.some(grows),
    isWatched: reports.some(({ leaks }) => leaks !== undefined),
  };
}
