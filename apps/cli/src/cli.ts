import { RematError } from "@remat/trace";
import { type CAC, type Command, cac } from "cac";
import type { ConsoleIo } from "./console-io.js";
import { UsageError } from "./usage-error.js";
import { versionText } from "./version.js";

/** A command's options as cac parses them. */
export type CommandOptions = Readonly<Record<string, unknown>>;

/** Exit codes of the command. */
export const ExitCode = { ok: 0, failed: 1, usage: 2 } as const;

/**
 * Runs `remat` with `args` (without node and script) and returns its exit code: 0, 1 where a model or file cannot be handled, 2 where the
 * command line is wrong. Errors are one line on stderr with the next step.
 */
export async function runCli(args: readonly string[], io: ConsoleIo): Promise<number> {
  try {
    const cli = program(io);
    cli.parse(["node", "remat", ...args], { run: false });
    if (cli.options["help"] === true || cli.options["version"] === true) return ExitCode.ok;
    if (cli.matchedCommand === undefined) {
      const [unknown] = cli.args;
      if (unknown !== undefined)
        throw new UsageError(
          `there is no command ${JSON.stringify(unknown)}. Expected ${commandNames(cli)}; see remat --help.`,
        );
      if (io.terminal !== undefined) {
        await (await import("./commands/ui.js")).ui([], {}, io);
        return ExitCode.ok;
      }
      cli.outputHelp();
      return ExitCode.usage;
    }
    await cli.runMatchedCommand();
    return ExitCode.ok;
  } catch (error) {
    return report(error, io);
  }
}

function program(io: ConsoleIo): CAC {
  const cli = cac("remat");
  const estimate = cli.command(
    "estimate <model>",
    "What a model's activations take, and what it would cost to recompute them",
  );
  withModelOptions(estimate)
    .option(
      "--mode <mode>",
      "operator-level-cost-model (roofline of a device) or operator-level-benchmark (runs each op here)",
      { default: "operator-level-cost-model" },
    )
    .option(
      "--device <name>",
      "Device to price for: a name (a100, h100, rtx-4090, cpu, …) or a JSON file with your own",
      { default: "a100" },
    )
    .option("--depth <n>", "Show modules of up to this many name components", { default: 2 })
    .option("--module <fqn>", "Show only this module, at any depth, with all its ops")
    .option("--ops", "Show the op and trade-off tables of every module, as PyTorch prints them")
    .option("--segments <n>", "Pieces to fit to each trade-off curve", { default: 2 })
    .option("--graphs <folder>", "Also draw each module's trade-off there, as SVG and PNG")
    .example("remat estimate model.json --batch 8 --device a100")
    .example("remat estimate ./my-model.js --module Transformer.layers.0")
    .example("remat estimate run.remat.jsonl.gz --device h100 --format json")
    .action(async (model: string, options: CommandOptions) =>
      (await import("./commands/estimate.js")).estimate(model, options, io),
    );
  const memory = cli.command("memory <model>", "What is on the device at the peak, and who put it there");
  withModelOptions(memory)
    .option("--optimizer <name>", "Also update the weights: sgd, momentum, adam, adamax, rmsprop, adagrad or adadelta")
    .option("--fsdp <plan>", "Predict one rank of many: world=8,wrap='layers.*',reshard,bf16,offload")
    .option("--at <moment>", "Which moment to explain: peak, op:N, event:N or mark:NAME", { default: "peak" })
    .option("--top <n>", "How many of the largest storages to list", { default: 10 })
    .option("--units <unit>", "B, KiB, MiB or GiB", { default: "MiB" })
    .option("--depth <n>", "Show modules of up to this many name components", { default: 2 })
    .option("--snapshots", "Show every module's snapshots by state, as PyTorch prints them")
    .example("remat memory model.json --batch 8 --optimizer adam")
    .example("remat memory ./my-model.js --optimizer adam --fsdp world=8,wrap='layers.*',bf16")
    .action(async (model: string, options: CommandOptions) =>
      (await import("./commands/memory.js")).memory(model, options, io),
    );
  const plan = cli.command("plan <model>", "What to keep and what to recompute, so that a step fits a memory budget");
  withModelOptions(plan)
    .option("--budget <size>", "What may be held at once: 0.9 or 60% of what is held without a plan, or 2GB, 512MiB")
    .option(
      "--max-overhead <share>",
      "How much longer a step may take: 20%. Without --budget: the smallest peak for that",
    )
    .option("--time <time>", "How long to look: 5s, 500ms, 2min (default: 5s, or as long as --iterations take)")
    .option("--iterations <n>", "How many changes to try: the same number and seed give the same plan")
    .option("--seed <n>", "Seed of the search", { default: 0 })
    .option("--workers <n>", "Threads that search (default: one a core, 8 at most)")
    .option("--order <order>", "fixed, or free: of graph files, in which order nodes first run", { default: "fixed" })
    .option(
      "--method <name>",
      "schedule: the whole step, op by op; modules: which modules to checkpoint; dp, knapsack, milp, greedy: what to store of each module",
      { default: "schedule" },
    )
    .option("--pareto <n>", "Also plan for this many budgets, down to the smallest, and recommend three")
    .option("--module <fqn>", "For methods that plan modules: only these (names or patterns, parted by commas)")
    .option("--world-size <n>", "For --method modules: devices that weights are sharded over", { default: 1 })
    .option("--fsdp-units <names>", "For --method modules: modules that are sharded as one")
    .option(
      "--mode <mode>",
      "operator-level-cost-model (roofline of a device) or operator-level-benchmark (runs each op here)",
    )
    .option("--device <name>", "Device to price for (default: a100; a trace keeps what was measured)")
    .option("--optimizer <name>", "Also update the weights: sgd, momentum, adam, adamax, rmsprop, adagrad or adadelta")
    .option("--depth <n>", "Show modules by this many name components", { default: 2 })
    .option("--top <n>", "How many of the storages or nodes that come again to list", { default: 10 })
    .option("-o, --output <file>", "Write the plan there, for an executor")
    .option("--pytorch-policy <file>", "Of a PyTorch run: also write what to checkpoint, for remat_export.apply_policy")
    .example("remat plan model.json --batch 8 --budget 60%")
    .example("remat plan ./my-model.js --optimizer adam --max-overhead 5% -o plan.json")
    .example("remat plan graph.json --budget 0.8 --order free --format json")
    .action(async (model: string, options: CommandOptions) =>
      (await import("./commands/plan.js")).plan(model, options, io),
    );
  const reporting = cli.command(
    "report [model]",
    "One HTML file: where memory goes, and what it would cost to spend less",
  );
  withModelOptions(reporting, { prints: false })
    .option("--compare <other>", "Another run, or a plan for this one, beside it")
    .option("--optimizer <name>", "Also update the weights: sgd, momentum, adam, adamax, rmsprop, adagrad or adadelta")
    .option("--fsdp <plan>", "Also predict one rank of many: world=8,wrap='layers.*',reshard,bf16,offload")
    .option(
      "--mode <mode>",
      "operator-level-cost-model (roofline of a device) or operator-level-benchmark (runs each op here)",
    )
    .option("--device <name>", "Device to price for (default: a100; a trace keeps what was measured)")
    .option("--time <time>", "How long to look for plans: 8s (default), 500ms, 0 for none")
    .option("--iterations <n>", "How many changes to try instead: the same number gives the same plans")
    .option("-o, --output <file>", "Write the report there (default: report.html)")
    .option("--open", "Open it in a browser")
    .option("--extract <report>", "Read a report back: its summary as JSON, or with -o run.remat.jsonl.gz its run")
    .example("remat report model.json --batch 8 -o report.html --open")
    .example("remat report predicted.remat.jsonl.gz --compare measured.remat.jsonl.gz")
    .example("remat report --extract report.html -o run.remat.jsonl.gz")
    .action(async (model: string | undefined, options: CommandOptions) =>
      (await import("./commands/report.js")).report(model, options, io),
    );
  cli
    .command("setup <what>", "Build the native backend: what is native")
    .option("--gpu", "Build tfjs-node-gpu, which uses a CUDA device where there is one, and the CPU otherwise")
    .option("--yes", "Fetch TensorFlow without asking, where none is installed")
    .option("--tensorflow <path>", "Folder of a TensorFlow, or a wheel of it, to build against")
    .option("--dir <folder>", "Where to keep it (default: REMAT_CACHE_DIR, or remat in the user's cache)")
    .option("--force", "Build anew even if what is there works")
    .example("remat setup native")
    .example("remat setup native --gpu --yes")
    .action(async (what: string, options: CommandOptions) =>
      (await import("./commands/setup.js")).setup(what, options, io),
    );
  cli
    .command("doctor", "Which backends work here, and what to do about those that do not")
    .option("--format <format>", "table or json", { default: "table" })
    .action(async (options: CommandOptions) => (await import("./commands/doctor.js")).doctor(options, io));
  const run = cli.command("run <model>", "Trains for a few steps within a memory budget: predicted beside measured");
  run
    .option("--batch <n>", "Samples in a batch (default: the model's own, or 1)")
    .option("--size <size>", "Which size of an example module to build: full or tiny", { default: "full" })
    .option("--backend <name>", "tensorflow, wasm or cpu (default: the best that works)")
    .option("--loss <name>", "sum, mean, meanSquaredError, categoricalCrossentropy, softmaxCrossEntropy")
    .option("--format <format>", "table or json", { default: "table" })
    .option("--budget <size>", "What may be held at once: 0.9 or 60% of what stock holds, or 2GB, 512MiB")
    .option("--max-overhead <share>", "In place of a budget, how much longer a step may take: 15%")
    .option("--plan <file>", "In place of a budget, a plan that remat plan -o wrote")
    .option("--early-release", "Nothing is recomputed; everything goes after its last use")
    .option("--steps <n>", "How many steps to run", { default: 5 })
    .option("--optimizer <name>", "sgd, momentum, adam, adamax, rmsprop, adagrad or adadelta (default: sgd)")
    .option("--data <file>", "Inputs and targets of a batch: a JSON file or an ES module (default: random)")
    .option("--seed <n>", "Seed of weights, random data and dropout", { default: 1 })
    .option("--time <time>", "How long to look for a plan (default: 20s)")
    .option("--verify", "Compare losses, gradients and weights with stock's, bit for bit, in processes of their own")
    .example("remat run model.json --budget 2GB --batch 8 --verify")
    .example("remat run ./my-model.js --budget 60% --optimizer adam")
    .action(async (model: string, options: CommandOptions) =>
      (await import("./commands/run.js")).run(model, options, io),
    );
  const ui = cli.command("ui [...targets]", "Explore a model, a trace or a plan in the terminal; two are compared");
  withModelOptions(ui, { prints: false })
    .option("--optimizer <name>", "Also update the weights: sgd, momentum, adam, adamax, rmsprop, adagrad or adadelta")
    .option("--device <name>", "Device to price for, where the trace has no runtimes of its own", { default: "a100" })
    .option("--view <name>", "Which view to begin with: modules, ops, trade-off, memory, compare or devices")
    .option("--once", "Print the view as text and exit: for pipes and logs")
    .option("--columns <n>", "With --once: width (default: the terminal's, $COLUMNS, or 100)")
    .option("--rows <n>", "With --once: lines at most", { default: 40 })
    .option("--module <fqn>", "With --once: the module to look at")
    .option("--theme <name>", "Colours for a dark or a light background (default: as the terminal says)")
    .option("--ascii", "Draw with ASCII only")
    .example("remat ui model.json --batch 8")
    .example("remat ui predicted.remat.jsonl measured.remat.jsonl")
    .example("remat ui run.remat.jsonl.gz --once --view memory")
    .action(async (targets: readonly string[], options: CommandOptions) =>
      (await import("./commands/ui.js")).ui(targets, options, io),
    );
  cli.help((sections) => [
    ...sections,
    ...(cli.matchedCommand === undefined || !/[<[]model[>\]]/.test(cli.matchedCommand.rawName)
      ? []
      : [
          {
            title: "MODEL is one of",
            body: [
              "  model.json         a Keras topology as tfjs-layers or Keras writes it; its weights are not needed",
              "  model.js           an ES module whose default export is a function that makes a model (see examples/README.md)",
              "  run.remat.jsonl    a trace that remat wrote, gzipped or not; a PyTorch exporter's JSON file",
              ...(cli.matchedCommand?.name === "plan"
                ? ["  graph.json         a graph of schema rematerialization-graph/1"]
                : cli.matchedCommand?.name === "report"
                  ? ["  plan.json          a plan that remat plan wrote"]
                  : []),
            ].join("\n"),
          },
        ]),
  ]);
  cli.version(versionText());
  return cli;
}

/** The options that every command with a MODEL has; `--format` and `--trace` only those that print. */
function withModelOptions(command: Command, { prints = true } = {}): Command {
  command
    .option("--batch <n>", "Samples in a batch (default: the model's own, or 1)")
    .option("--size <size>", "Which size of an example module to build: full or tiny", { default: "full" })
    .option(
      "--backend <name>",
      "Backend whose buffers are meant, or on which ops are timed: tensorflow, wasm or cpu (default: tensorflow; for timing the best that works)",
    )
    .option(
      "--loss <name>",
      "Loss where the model has none: sum, mean, meanSquaredError, categoricalCrossentropy, softmaxCrossEntropy",
    )
    .option("--group <by>", "How a flat Keras model gets a hierarchy: auto, prefixes, cuts or none", {
      default: "auto",
    });
  return prints
    ? command
        .option("--format <format>", "table, plain, json, csv or md", { default: "table" })
        .option("--trace <file>", "Also write the trace: out.remat.jsonl, or out.remat.jsonl.gz")
    : command;
}

function commandNames(cli: CAC): string {
  return cli.commands.map((command) => command.name).join(", ");
}

/** What a library refuses that can only come from the command line. */
const usageCodes: ReadonlySet<string> = new Set(["LOSS_UNKNOWN", "OPTIMIZER_UNKNOWN"]);

function report(error: unknown, io: ConsoleIo): number {
  // cac's own complaints (unknown option, missing argument) are usage errors, too.
  const usage =
    error instanceof UsageError ||
    (error instanceof Error && error.name === "CACError") ||
    (error instanceof RematError && usageCodes.has(error.code));
  const message = error instanceof Error ? error.message : String(error);
  const expected = usage || error instanceof RematError;
  const debug = io.env["REMAT_DEBUG"] !== undefined;
  let hint = "";
  if (usage && !/see remat/.test(message)) hint = "See remat --help.";
  else if (!expected && !debug) hint = "Set REMAT_DEBUG=1 to see where it was thrown.";
  const end = hint === "" ? "" : `${/[.?!]$/.test(message) ? "" : "."} ${hint}`;
  io.stderr.write(`remat: ${oneLine(message)}${end}\n`);
  if (debug) io.stderr.write(`${error instanceof Error ? (error.stack ?? "") : ""}\n`);
  return usage ? ExitCode.usage : ExitCode.failed;
}

/** Names in messages can hold anything; a terminal must not be told what to do by them. */
function oneLine(message: string): string {
  return message
    .replace(/\s*\n\s*/g, " ")
    .replace(/\p{Cc}/gu, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
}
