import type { ConsoleIo } from "./console-io.js";
import type { SourceKind } from "./importers/importer.js";

/** A command's options as they were typed: a text, a list where one was given several times, true for a switch. */
export type CommandOptions = Readonly<Record<string, unknown>>;

/**
 * What the value of an option can reach. It decides what a configuration file that was found may set (`docs/security.md`): only `data` and files that are read as data.
 *
 * - `data`: a number, a name, a choice.
 * - `file`: a file that is read as data.
 * - `name or file`: a file that is read as data where it ends in `.json`, otherwise a name or a text.
 * - `output`: a file or folder that is written, or a switch that has one written.
 * - `code`: a module that is run, or a switch by which code from the working folder or another program is run.
 * - `network`: a server that is asked, or a switch by which something is downloaded.
 */
export type OptionAccess = "data" | "file" | "name or file" | "output" | "code" | "network";

/** One option: as commander writes it, and what it is for. */
export interface CommandOption {
  readonly flags: string;
  /** What its value can reach, or how that is told by the value. */
  readonly access: OptionAccess | ((value: string) => OptionAccess);
  readonly purpose: string;
  readonly default?: string | number;
  /** Values that a shell may complete; a command may take others besides. */
  readonly choices?: readonly string[];
  /** Whether its value is a file that the command reads. */
  readonly reads?: true;
  /** Of one whose value is a file that is written: as text whatever its name is, or gzipped where that ends in `.gz`. */
  readonly writes?: "text" | "text or gzip";
  /** Returns the file that is written where the option is left out, if any is. */
  readonly writesByDefault?: (targets: readonly string[], options: CommandOptions) => string | undefined;
  /** Under which heading help lists it; left out: with the command's own. */
  readonly group?: string;
}

/** Returns options under a heading of help. */
export function grouped(group: string, options: readonly CommandOption[]): readonly CommandOption[] {
  return options.map((option) => ({ ...option, group }));
}

/** A command of `remat`: what a file in `commands/` exports. */
export interface Command {
  readonly options: readonly CommandOption[];
  readonly examples: readonly string[];
  /** Of a command that takes MODEL: what that may give. */
  readonly takes?: readonly SourceKind[];
  /** What a shell may complete in place of a file: the words that it takes. */
  readonly words?: readonly string[];
  /** Whether what it is given besides options is a program to run, of which no word means anything to us. */
  readonly takesProgram?: true;
  /** Runs it with what was given besides options; what it returns, if anything, is the exit code. */
  run(targets: readonly string[], options: CommandOptions, io: ConsoleIo): Promise<number | void>;
}

/** A line of the registry: enough for `remat --help`; the command itself is loaded when it is asked for. */
export interface CommandEntry {
  /** Its name and what it takes: `<needed>`, `[optional]`, `[several...]`. */
  readonly usage: string;
  readonly purpose: string;
  readonly load: () => Promise<Command>;
}

/** Returns the name of a command. */
export function nameOfEntry({ usage }: Pick<CommandEntry, "usage">): string {
  return usage.split(" ")[0];
}

/** Returns the name of an option, as it is typed after two dashes. */
export function optionName({ flags }: Pick<CommandOption, "flags">): string {
  return /--([\w-]+)/.exec(flags)![1];
}

/** Returns the field in which a command is given an option: `maxOverhead` of `--max-overhead`. */
export function optionKey(option: Pick<CommandOption, "flags">): string {
  return optionName(option).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
