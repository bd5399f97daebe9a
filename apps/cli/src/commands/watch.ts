import { readFileSync } from "node:fs";
import { runProgram, type ThreadReport, type WatchedStep } from "@remat/program";
import { formatBytes, formatPercent, type StepView, viewStep } from "@remat/reporting";
import type { Facts } from "@remat/reporting/verdict";
import { openLiveView } from "@remat/terminal";
import { parseTrace, RematError } from "@remat/trace";
import { shell } from "@remat/trace/emit";
import { type Command, defineCommand, grouped, type Invocation, option } from "../command.js";
import { printFacts } from "../program/print-facts.js";
import { describeNothing, printLoss, programOf, trainingEnvironment } from "../program/program-command.js";
import { type Machine, rememberedMachines } from "../verdict/this-machine.js";

/** Minimum time between two lines if there is no terminal. */
const lineEveryMs = 1000;

const options = grouped("usual", [
  option("--theme <name>", {
    group: "output",
    access: "data",
    choices: ["dark", "light"],
    purpose: "Colours for a dark or a light background (default: as the terminal reports)",
  }),
  option("--ascii", { group: "output", access: "data", purpose: "Draw with ASCII characters only" }),
]);

export const watchCommand: Command = defineCommand({
  options,
  examples: [
    "remat watch -- node train.js",
    "remat watch -- npx tsx train.ts 2> steps.log",
    "remat watch --ascii -- node train.js",
  ],
  takesProgram: true,
  run: watch,
});

/** A step that was watched. */
interface SeenStep extends WatchedStep {
  readonly name: string;
  readonly view: StepView;
  readonly device: string;
}

/**
 * Runs an unmodified training program and shows its memory: as a picture in a terminal, otherwise line by line
 * (`remat watch -- PROGRAM`).
 */
async function watch({ targets, options: { theme, ascii }, io }: Invocation<typeof options>): Promise<number> {
  const command = programOf("watch", targets);
  const program = shell.words(command);
  const machines = rememberedMachines();
  // Looked up now, because the view could not be drawn while waiting for the driver.
  if (io.terminal) machines("cuda:0");
  const quit = new AbortController();
  const live =
    io.terminal &&
    openLiveView({
      program,
      theme,
      isAscii: ascii ? true : undefined,
      env: io.env,
      ...io.terminal,
      onQuit: () => quit.abort(),
    });
  const files = new Set<string>();
  let most: SeenStep | undefined;
  let told = Number.NEGATIVE_INFINITY;
  const look = (reports: readonly ThreadReport[]): void => {
    for (const { watched } of reports) {
      if (watched === undefined || files.has(watched.file)) continue;
      files.add(watched.file);
      const step = readStep(watched);
      if (step === undefined) continue;
      if (most === undefined || step.view.peakBytes > most.view.peakBytes) most = step;
      live?.step({ ...step, memoryBytes: machines(step.device).memoryBytes });
      const now = performance.now();
      if (live !== undefined || now - told < lineEveryMs) continue;
      told = now;
      printFacts({ facts: [describeStep(step)] }, io);
    }
  };
  try {
    return await runProgram(
      {
        command,
        // Watches the first steps even if that is slow. Keeps none of them.
        order: { kind: "record", steps: 1, seconds: 60, watches: true },
        env: trainingEnvironment(),
        onReports: look,
        interrupt: quit.signal,
        // The live picture would hide this line.
        onLoss: (line) => (live === undefined ? printLoss(io)(line) : undefined),
        ...(live !== undefined && {
          stdio: ["ignore", "pipe", "pipe"] as ["ignore", "pipe", "pipe"],
          onOutput: (text) => live.wrote(text),
        }),
      },
      ({ exitCode, reports, loss }) => {
        look(reports);
        live?.close(exitCode === 0 ? "has ended" : `ended with exit code ${exitCode}`);
        if (live !== undefined && loss !== undefined) printLoss(io)(loss);
        if (most === undefined && exitCode === 0 && loss === undefined)
          throw new RematError("PROGRAM_STEPS", describeNothing(command, exitCode, reports));
        if (most !== undefined) printFacts(describeMost(most, machines(most.device), command), io);
        return exitCode;
      },
    );
  } finally {
    live?.close("was not started");
  }
}

/** Undefined if a newer step is already available, or if the program ended while it wrote this one. */
function readStep(watched: WatchedStep): SeenStep | undefined {
  try {
    const trace = parseTrace(readFileSync(watched.file));
    if (trace.truncated !== undefined) return undefined;
    const view = viewStep(trace);
    const name = [watched.model, watched.optimizer].filter((part) => part !== undefined).join(" by ");
    return view && { ...watched, name, view, device: trace.header.device };
  } catch {
    return undefined;
  }
}

/** A step in one line, because a program runs many steps. */
function describeStep({ pass, name, view: { peakBytes, categories, peakOp, peakLine } }: SeenStep): string {
  const [first, second] = categories.map(
    ({ label, bytes }) => `${label.toLowerCase()} (${formatPercent(bytes / peakBytes)})`,
  );
  const most = [first, second].filter((part) => part !== undefined).join(" and ");
  const place = `${peakOp}${peakLine === undefined ? "" : `, ${peakLine}`}`;
  return `pass ${pass}${name === "" ? "" : ` (${name})`}: peak memory ${formatBytes(peakBytes)} in ${place}${most === "" ? "" : `, mostly ${most}`}`;
}

function describeMost(most: SeenStep, { name, memoryBytes }: Machine, program: readonly string[]): Facts {
  const machine = memoryBytes === undefined ? "" : ` The memory of ${name} is ${formatBytes(memoryBytes)}.`;
  const command = shell.words(["remat", "record", "--", ...program]);
  return {
    facts: [
      `Highest peak among the observed steps: ${describeStep(most)}.${machine}`,
      "To see everything in it:",
      command,
    ],
    command,
  };
}
