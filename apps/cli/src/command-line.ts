import { terminal } from "@remat/trace/emit";
import { Option, Command as Program } from "commander";
import {
  type Command,
  type CommandEntry,
  type CommandOption,
  nameOfEntry,
  type OptionGroup,
  optionKey,
  optionName,
  readOptions,
  shownUsage,
  type TypedOptions,
} from "./command.js";
import { commands } from "./commands/registry.js";
import type { ConsoleIo } from "./console-io.js";
import { allOption, configurableOptions, globalOptions } from "./global-options.js";
import { esModuleImporter } from "./importers/es-module.js";
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

/** The groups of options in help, in this order, and their headings. */
export const optionGroups: readonly (readonly [OptionGroup, string])[] = [
  ["usual", "Options"],
  ["device", "Device"],
  ["output", "Output"],
  ["rare", "Less common options"],
];

/** The end of help without a command. */
const firstExamples = [
  "  remat estimate model.json --batch 8 --device here",
  "  remat record -- node train.js",
  "  remat exec --budget 2GB -- node train.js",
];

/** Lines of help are no longer than this, however wide the terminal is: they are read, not scanned. */
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
      subcommandTerm: (command) => shownUsage(commands.find((entry) => nameOfEntry(entry) === command.name())!),
    })
    .version(versionText(), "-v, --version", "Print the version")
    .helpOption("-h, --help", "Print this help");
  const isWhole = showsAll(args);
  leadHelp(program, "See where training memory goes, what using less costs in time, and train in less memory.");
  for (const option of globalOptions) program.addOption(asTyped(option, isWhole));
  for (const entry of commands) {
    const added = program.command(entry.usage).summary(entry.purpose);
    if (entry.shownArguments !== undefined) added.usage(`[options] ${entry.shownArguments}`);
    leadHelp(added, `${entry.purpose}.`);
    if (!args.includes(added.name())) continue;
    const command = await entry.load();
    for (const [group] of optionGroups)
      for (const option of command.options) if (option.group === group) added.addOption(asTyped(option, isWhole));
    added.addHelpText("after", () => helpAfter(added, command, isWhole));
    added.action(() => {
      const options = added.optsWithGlobals<Record<string, unknown>>();
      if (options[optionKey(allOption)] === true)
        throw new UsageError(`--all is for help: see remat ${added.name()} --help --all.`);
      return typed({ entry, command, targets: added.args, options });
    });
  }
  return program.addHelpText(
    "after",
    ["", "Options of a command: remat COMMAND --help", "", "Examples:", ...firstExamples].join("\n"),
  );
}

/**
 * Returns whether every option is shown. Only help without `--all` leaves some out. For a mistyped option, commander
 * suggests only options that are shown.
 */
function showsAll(args: readonly string[]): boolean {
  // Arguments after `--` belong to a program.
  const end = args.indexOf("--");
  const own = end < 0 ? args : args.slice(0, end);
  const isHelp =
    own.includes("--help") || own.includes("-h") || !commands.some((each) => own.includes(nameOfEntry(each)));
  return !isHelp || own.includes(`--${optionName(allOption)}`);
}

/** An option that keeps the typed text, or all texts if it is repeated. It never takes another option as its value. */
function asTyped({ flags, purpose, default: byDefault, group }: CommandOption, isWhole: boolean): Option {
  const option = new Option(flags, byDefault === undefined ? purpose : `${purpose} (default: ${byDefault})`);
  const [, title] = optionGroups.find(([name]) => name === group)!;
  option.helpGroup(`${title}:`).hideHelp(group === "rare" && !isWhole);
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

function helpAfter(
  program: Program,
  { examples, options, takes = [], takesProgram }: Command,
  isWhole: boolean,
): string {
  const help = program.createHelp();
  help.prepareContext({ helpWidth: program.configureOutput().getOutHelpWidth!() });
  const predicts = options.some((option) => optionName(option) === "predict");
  const kinds = importers
    .filter((importer) => takes.includes(importer.gives) && (predicts || !("isForPrediction" in importer)))
    .map(({ example, what }) => [example, what]);
  const takesModule = kinds.some(([name]) => name === esModuleImporter.example);
  // Standard input belongs to the program, if there is one.
  if (kinds.length > 0 && !takesProgram)
    kinds.push(["-", `any of these${takesModule ? ` except ${esModuleImporter.example}` : ""}, from standard input`]);
  const widest = Math.max(...kinds.map(([name]) => name.length));
  const hidden = isWhole ? 0 : [...options, ...globalOptions].filter(({ group }) => group === "rare").length;
  const more = hidden === 0 ? "" : `\n${hidden} more options: remat ${program.name()} --help --all\n`;
  const sections = [
    { title: "Inputs", lines: kinds.map(([name, what]) => help.formatItem(name, widest, what, help)) },
    { title: "Examples", lines: examples.map((example) => `  ${example}`) },
  ];
  const listed = sections
    .filter(({ lines }) => lines.length > 0)
    .map(({ title, lines }) => `\n${title}:\n${lines.join("\n")}\n`)
    .join("");
  // Commander adds the final line break.
  return (more + listed).trimEnd();
}
