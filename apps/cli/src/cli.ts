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
  cli.help((sections) => [
    ...sections,
    ...(cli.matchedCommand === undefined
      ? []
      : [
          {
            title: "MODEL is one of",
            body: [
              "  model.json         a Keras topology as tfjs-layers or Keras writes it; its weights are not needed",
              "  model.js           an ES module whose default export is a function that makes a model (see examples/README.md)",
              "  run.remat.jsonl    a trace that remat wrote, gzipped or not; a PyTorch exporter's JSON file",
            ].join("\n"),
          },
        ]),
  ]);
  cli.version(versionText());
  return cli;
}

/** The options that every command with a MODEL has. */
function withModelOptions(command: Command): Command {
  return command
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
    })
    .option("--format <format>", "table, plain, json, csv or md", { default: "table" })
    .option("--trace <file>", "Also write the trace: out.remat.jsonl, or out.remat.jsonl.gz");
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
