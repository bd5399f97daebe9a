import type { Verdict } from "@remat/reporting/verdict";
import { type Opened, printView, startTerminal, type ViewName, viewNames } from "@remat/terminal";
import { type Plan, type Trace, truncationNote } from "@remat/trace";
import { terminal } from "@remat/trace/emit";
import { type Command, defineCommand, type Invocation, option } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { modelOptionsOf, predictOption, recordOptions, stepOptions } from "../model-options.js";
import { importerOf, isOf, modelSource } from "../model-source.js";
import { deviceOption, type Pricing, pricingOf } from "../pricing-options.js";
import { Progress } from "../progress.js";
import { typedTarget } from "../standard-input.js";
import { judgeOpened } from "../terminal/judge-opened.js";
import { openTarget } from "../terminal/open-target.js";
import { startEntries } from "../terminal/start-entries.js";
import { parseCount, quote, UsageError } from "../usage-error.js";
import { answerWhatIfsOf } from "../what-if/answer-what-ifs.js";

/** Names of views on the command line. */
const viewOptions: Readonly<Record<string, ViewName>> = Object.fromEntries(
  viewNames.map((name) => [name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), name]),
);

const options = [
  ...stepOptions,
  ...recordOptions,
  predictOption,
  deviceOption,
  option("--view <name>", {
    group: "usual",
    access: "data",
    purpose: `First view to show: ${Object.keys(viewOptions).join(", ")}`,
    choices: Object.keys(viewOptions),
    parse: parseView,
  }),
  option("--once", { group: "usual", access: "data", purpose: "Print the view as text and exit, for pipes and logs" }),
  option("--columns <n>", {
    group: "output",
    access: "data",
    purpose: "With --once: width in characters (default: the terminal width, $COLUMNS, or 100)",
    parse: parseColumns,
  }),
  option("--rows <n>", {
    group: "output",
    access: "data",
    purpose: "With --once: maximum number of lines",
    default: 40,
    parse: (name, value) => parseCount(name, value, 8),
  }),
  option("--module <fqn>", { group: "usual", access: "data", purpose: "With --once: the module to show" }),
  option("--theme <name>", {
    group: "output",
    access: "data",
    choices: ["dark", "light"],
    purpose: "Colours for a dark or a light background (default: as the terminal reports)",
  }),
  option("--ascii", { group: "output", access: "data", purpose: "Draw with ASCII characters only" }),
];

export const uiCommand: Command = defineCommand({
  options,
  examples: [
    "remat ui model.json --batch 8",
    "remat ui predicted.remat.jsonl measured.remat.jsonl",
    "remat ui run.remat.jsonl.gz --once --view memory",
  ],
  takes: ["model", "run", "plan"],
  run: ui,
});

/** Opens the terminal app (`remat ui [MODEL|TRACE|PLAN …]`). With `--once`, prints a view as text. */
async function ui(invocation: Invocation<typeof options>): Promise<void> {
  const { targets, options: given, typedOptions, io } = invocation;
  const { view, theme, once } = given;
  const pricing = pricingOf(given);
  const { device } = pricing;
  const plan = planAmong(targets);
  const step = modelOptionsOf(given);
  const open = openTarget(step, {
    canStop: !once,
    isComparing: targets.length > 1 && plan === undefined,
    plan,
    typed: { typedOptions, pricing, units: "auto" },
  });
  if (once) return printOnce(open, pricing, invocation);
  const { terminal } = io;
  if (terminal === undefined)
    throw new UsageError(
      "remat ui needs a terminal, and its input or output is a file or a pipe. To print a view as text: remat ui model.json --once --view memory.",
    );
  await startTerminal({
    targets,
    open,
    answerWhatIfs: answerWhatIfsOf(step),
    examples: startEntries(process.cwd()),
    device,
    isDeviceAsked: pricing.isAsked,
    view,
    theme,
    isAscii: given.ascii ? true : undefined,
    env: io.env,
    ...terminal,
    folder: process.cwd(),
  });
}

/** The plan that is shown with a model. */
function planAmong(targets: readonly string[]): Plan | undefined {
  if (targets.length < 2) return undefined;
  for (const target of targets) {
    const source = modelSource(target);
    if (isOf(source, "plan")) return importerOf(source).read(source.path);
  }
  return undefined;
}

async function printOnce(
  open: ReturnType<typeof openTarget>,
  pricing: Pricing,
  { targets, options: given, typedOptions, io }: Invocation<typeof options>,
): Promise<void> {
  const columns = given.columns ?? parseColumns("columns", io.width ?? io.env["COLUMNS"] ?? 100);
  const { rows, module, view } = given;
  if (targets.length === 0 || targets.length > 2)
    throw new UsageError("--once needs a model or trace, or two to compare: remat ui run.remat.jsonl --once.");
  const progress = new Progress(io);
  const runs: Extract<Opened, { readonly kind: "trace" }>[] = [];
  let verdict: Verdict | undefined;
  try {
    for (const target of targets) {
      const opened = await open(target, {
        signal: new AbortController().signal,
        onProgress: (text) => progress.show(`${target}: ${text}`),
      });
      if (opened.kind === "plan")
        throw new UsageError(`${quote(target)} is a plan, which --once cannot print. Use remat report for it.`);
      runs.push(opened);
    }
    const [target] = targets;
    const [{ trace, atHand }] = runs;
    const typed = { target, source: modelSource(target), typedOptions, step: modelOptionsOf(given), pricing };
    verdict = await judgeOpened({ trace, planned: atHand?.planned }, { ...typed, units: "auto" }, progress);
  } finally {
    progress.clear();
  }
  const [{ title, path, trace, isModel, atHand }, other] = runs;
  for (const [i, { trace: each }] of runs.entries()) printTruncation(typedTarget(targets[i]), each, io);
  io.stdout.write(
    terminal.listing(
      await printView(trace, {
        view: view ?? (other === undefined ? "held" : "compare"),
        columns,
        rows,
        title,
        device: pricing.device,
        module,
        verdict,
        // Other facts serve only for the verdict, which `verdict` already contains.
        atHand: { planned: atHand?.planned },
        other,
        model: isModel === true ? { path, answerWhatIfs: answerWhatIfsOf(modelOptionsOf(given)) } : undefined,
        isAscii: given.ascii,
      }),
    ),
  );
}

/** Reports on standard error that a trace is truncated or damaged. */
function printTruncation(name: string, trace: Trace, io: Pick<ConsoleIo, "stderr">): void {
  const note = truncationNote(trace);
  if (note !== undefined) io.stderr.write(terminal`remat: ${name}: ${note}.\n`);
}

function parseColumns(name: string, value: unknown): number {
  return parseCount(name, value, 40);
}

function parseView(option: string, value: unknown): ViewName {
  const name = viewNames[Number(value) - 1] ?? viewOptions[String(value)];
  if (name === undefined)
    throw new UsageError(
      `--${option} expects one of ${Object.keys(viewOptions).join(", ")}, or 1 to ${viewNames.length}; found ${quote(value)}.`,
    );
  return name;
}
