import { type CommandEntry, type CommandOption, nameOfEntry, option } from "../command.js";
import { globalOptions } from "../global-options.js";

/** An option as a shell has to know it. */
export interface CompletedOption {
  /** `--output`, `-o`. */
  readonly flags: readonly string[];
  /** What it is for, without its default. */
  readonly purpose: string;
  readonly takesValue: boolean;
  /** Values that are offered; none of an option that takes a value: files are. */
  readonly choices: readonly string[];
}

/** A command as a shell has to know it. */
export interface CompletedCommand {
  readonly name: string;
  readonly purpose: string;
  readonly options: readonly CompletedOption[];
  /** What may stand for its first argument; undefined where that is a file. */
  readonly words: readonly string[] | undefined;
}

/** Returns commands with their options, as of today: a script of them starts no process where somebody presses Tab. */
export async function completedCommands(commands: readonly CommandEntry[]): Promise<readonly CompletedCommand[]> {
  const all = await Promise.all(
    commands.map(async (entry): Promise<CompletedCommand> => {
      const { options, words } = await entry.load();
      return {
        name: nameOfEntry(entry),
        purpose: entry.purpose,
        options: [...options, ...globalOptions, help].map(completedOption),
        words: entry.usage.includes(" ") ? words : [],
      };
    }),
  );
  return [
    ...all,
    { name: "help", purpose: "Print a command's options", options: [], words: all.map(({ name }) => name) },
  ];
}

const help = option("-h, --help", { access: "data", purpose: "Print the options" });

function completedOption({ flags, purpose, choices = [] }: CommandOption): CompletedOption {
  return {
    flags: flags.split(/[\s,]+/).filter((word) => word.startsWith("-")),
    purpose: purpose.replace(/ \([^()]*\)$/, ""),
    takesValue: flags.includes("<"),
    choices,
  };
}
