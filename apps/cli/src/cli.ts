import { inspect } from "node:util";
import { displaySafe } from "@remat/text-table";
import { RematError } from "@remat/trace";
import { type CAC, cac } from "cac";
import type { CommandEntry, CommandOptions } from "./command.js";
import { commands } from "./commands/registry.js";
import type { ConsoleIo } from "./console-io.js";
import { budgetNotFound } from "./plan/refuse.js";
import { UsageError } from "./usage-error.js";
import { markValues, unmarkValues } from "./values-as-typed.js";
import { versionText } from "./version.js";

/** Exit codes of the command. */
export const ExitCode = { ok: 0, failed: 1, usage: 2, notFound: 3 } as const;

/**
 * Runs `remat` with `args` (without node and script) and returns its exit code: 0, 1 where a model or file cannot be handled, 2 where the
 * command line is wrong, 3 where no plan was found in the time given, though there may be one. Errors are one line on stderr with the next step.
 */
export async function runCli(args: readonly string[], io: ConsoleIo): Promise<number> {
  try {
    const cli = await program(args, io);
    cli.parse(["node", "remat", ...markValues(cli, args)], { run: false });
    unmarkValues(cli.options);
    if (cli.options["help"] === true || cli.options["version"] === true) return ExitCode.ok;
    if (cli.matchedCommand === undefined) {
      const [unknown] = cli.args;
      if (unknown !== undefined)
        throw new UsageError(
          `there is no command ${JSON.stringify(unknown)}. Expected ${commandNames(cli)}; see remat --help.`,
        );
      if (io.terminal !== undefined) {
        await (await commandNamed("ui").load()).run([], {}, io);
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

/** The command line with the options of those commands that `args` names; of the others only what they are for. */
async function program(args: readonly string[], io: ConsoleIo): Promise<CAC> {
  const cli = cac("remat");
  const modelHelp: Record<string, readonly string[]> = {};
  for (const entry of commands) {
    const added = cli.command(entry.usage, entry.purpose);
    if (!args.includes(added.name)) continue;
    const { options, examples, takesModelAnd, run } = await entry.load();
    for (const option of options)
      added.option(option.flags, option.purpose, option.default === undefined ? {} : { default: option.default });
    for (const example of examples) added.example(example);
    if (takesModelAnd !== undefined) modelHelp[added.name] = takesModelAnd;
    // cac hands over each positional argument, a list where it takes several, then the options.
    added.action((...given: unknown[]) => {
      const targets = given.slice(0, -1).flat() as (string | undefined)[];
      return run(
        targets.filter((target) => target !== undefined),
        given.at(-1) as object as CommandOptions,
        io,
      );
    });
  }
  cli.help((sections) => {
    const others = modelHelp[cli.matchedCommand?.name ?? ""];
    return others === undefined
      ? sections
      : [...sections, { title: "MODEL is one of", body: [...models, ...others].join("\n") }];
  });
  cli.version(versionText());
  return cli;
}

const models: readonly string[] = [
  "  model.json         a Keras topology as tfjs-layers or Keras writes it; its weights are not needed",
  "  model.js           an ES module whose default export is a function that makes a model (see examples/README.md)",
  "  run.remat.jsonl    a trace that remat wrote, gzipped or not; a PyTorch exporter's JSON file",
];

function commandNamed(name: string): CommandEntry {
  return commands.find(({ usage }) => usage.split(" ")[0] === name) as CommandEntry;
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
  const message = messageOf(error);
  const expected = usage || error instanceof RematError;
  const debug = io.env["REMAT_DEBUG"] !== undefined;
  let hint = "";
  if (usage && !/see remat/.test(message)) hint = "See remat --help.";
  else if (!expected && !debug) hint = "Set REMAT_DEBUG=1 to see where it was thrown.";
  const end = hint === "" ? "" : `${/[.?!]$/.test(message) ? "" : "."} ${hint}`;
  io.stderr.write(`remat: ${oneLine(message)}${end}\n`);
  if (debug) io.stderr.write(`${error instanceof Error ? (error.stack ?? "") : ""}\n`);
  if (error instanceof RematError && error.code === budgetNotFound) return ExitCode.notFound;
  return usage ? ExitCode.usage : ExitCode.failed;
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error))
    return `the model's code threw ${describeThrown(error)}, which is no error. Throw an Error that says what is wrong.`;
  if (error instanceof RangeError && /call stack/.test(error.message))
    return (
      `the model is too deep, or its code calls itself without end (${error.message}): tfjs-layers calls itself once for each layer in a row. ` +
      "Make a long model of models of at most 1,000 layers each."
    );
  return error.message;
}

/** Anything can be thrown, even what cannot be made a text. */
function describeThrown(thrown: unknown): string {
  return inspect(thrown, { depth: 0, breakLength: Infinity }).slice(0, 200);
}

/** Names in messages can hold anything; a terminal must not be told what to do by them. */
function oneLine(message: string): string {
  return displaySafe(message.replace(/\s*\n\s*/g, " "));
}
