import { type CommandEntry, type CommandOption, nameOfEntry, option } from "../command.js";
import { globalOptions } from "../global-options.js";

/** An option as needed for shell completion. */
export interface CompletedOption {
  /** `--output`, `-o`. */
  readonly flags: readonly string[];
  /** Its purpose, without its default. */
  readonly purpose: string;
  readonly takesValue: boolean;
  /** Values to offer, or empty for an option that takes a file. */
  readonly choices: readonly string[];
}

/** A command as needed for shell completion. */
export interface CompletedCommand {
  readonly name: string;
  readonly purpose: string;
  readonly options: readonly CompletedOption[];
  /** Words for its first argument, or undefined if that is a file. */
  readonly words: readonly string[] | undefined;
}

/** Returns commands with their current options, so that a generated script starts no process when Tab is pressed. */
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

const help = option("-h, --help", { group: "usual", access: "data", purpose: "Print the options" });

function completedOption({ flags, purpose, choices = [] }: CommandOption): CompletedOption {
  return {
    flags: flags.split(/[\s,]+/).filter((word) => word.startsWith("-")),
    purpose: purpose.replace(/ \([^()]*\)$/, ""),
    takesValue: flags.includes("<"),
    choices,
  };
}
