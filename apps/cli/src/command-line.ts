import { terminal } from "@remat/trace/emit";
import { Option, Command as Program } from "commander";
import {
  type Command,
  type CommandEntry,
  type CommandOption,
  optionName,
  readOptions,
  type TypedOptions,
} from "./command.js";
import { commands } from "./commands/registry.js";
import type { ConsoleIo } from "./console-io.js";
import { configurableOptions, globalOptions } from "./global-options.js";
import { importers } from "./importers/importers.js";
import { UsageError } from "./usage-error.js";
import { versionText } from "./version.js";

/** The command line: the command, its targets and its options. */
export interface TypedCommand {
  readonly entry: CommandEntry;
  readonly command: Command;
  readonly targets: readonly string[];
  readonly options: TypedOptions;
}

/** Maximum width of help, however wide the terminal is, for readability. */
const widestHelp = 100;

/**
 * Returns the command line with the options of the commands that `args` names. Other commands have only their purpose.
 * The parsed command line is passed to `typed`.
 */
export async function makeProgram(
  args: readonly string[],
  io: ConsoleIo,
  typed: (given: TypedCommand) => Promise<void>,
): Promise<Program> {
  const program: Program = new Program("remat")
    .exitOverride()
    .helpCommand(false)
    .configureOutput({
      writeOut: (text) => io.stdout.write(terminal.listing(text)),
      writeErr: (text) => io.stderr.write(terminal.listing(text)),
      getOutHelpWidth: () =>
        Math.min(readOptions(configurableOptions, program.opts()).width ?? io.width ?? 80, widestHelp),
      // The caller reports errors in one line.
      outputError: () => undefined,
    })
    .configureHelp({
      showGlobalOptions: true,
      minWidthToWrap: 24,
      styleTitle: (title) => title.replace("Global Options", "Every command"),
    })
    .version(versionText(), "-v, --version", "Print the version")
    .helpOption("-h, --help", "Print this");
  leadHelp(program, "What a model's memory is spent on, what less would cost in time, and training in less.");
  for (const option of globalOptions) program.addOption(asTyped(option));
  for (const entry of commands) {
    const added = program.command(entry.usage).summary(entry.purpose);
    leadHelp(added, `${entry.purpose}.`);
    if (!args.includes(added.name())) continue;
    const command = await entry.load();
    // Lists the command's own options first in help.
    for (const own of [true, false])
      for (const option of command.options) if ((option.group === undefined) === own) added.addOption(asTyped(option));
    added.addHelpText("after", () => helpAfter(added, command));
    added.action(() => {
      const options = added.optsWithGlobals<Record<string, unknown>>();
      return typed({ entry, command, targets: added.args, options });
    });
  }
  return program.addHelpText("after", "\nremat help COMMAND, or remat COMMAND --help, lists its options.");
}

/** An option that keeps the typed text, collects repeated values, and does not take another option as its value. */
function asTyped({ flags, purpose, default: byDefault, group }: CommandOption): Option {
  const option = new Option(flags, byDefault === undefined ? purpose : `${purpose} (default: ${byDefault})`);
  if (group !== undefined) option.helpGroup(`${group}:`);
  if (!option.required) return option;
  return option.argParser((value: string, before: string | readonly string[] | undefined) => {
    if (/^--?[a-z]/i.test(value))
      throw new UsageError(`--${option.name()} expects a value; found the option ${value}.`);
    return before === undefined ? value : [before, value].flat();
  });
}

/** Puts the purpose before the usage line. */
function leadHelp(program: Program, sentence: string): void {
  program.addHelpText("before", () => {
    const help = program.createHelp();
    return `${help.boxWrap(sentence, program.configureOutput().getOutHelpWidth!())}\n`;
  });
}

function helpAfter(program: Program, { examples, options, takes = [] }: Command): string {
  const help = program.createHelp();
  help.prepareContext({ helpWidth: program.configureOutput().getOutHelpWidth!() });
  const predicts = options.some((option) => optionName(option) === "predict");
  const kinds = importers
    .filter((importer) => takes.includes(importer.gives) && (predicts || !("isForPrediction" in importer)))
    .map(({ example, what }) => [example, what]);
  if (kinds.length > 0) kinds.push(["-", "any of these but a module, from standard input"]);
  const widest = Math.max(...kinds.map(([name]) => name.length));
  const sections = [
    { title: "MODEL is one of", lines: kinds.map(([name, what]) => help.formatItem(name, widest, what, help)) },
    { title: "Examples", lines: examples.map((example) => `  ${example}`) },
  ];
  return sections
    .filter(({ lines }) => lines.length > 0)
    .map(({ title, lines }) => `\n${title}:\n${lines.join("\n")}\n`)
    .join("");
}
