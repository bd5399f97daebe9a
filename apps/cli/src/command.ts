import type { ConsoleIo } from "./console-io.js";
import type { SourceKind } from "./importers/importer.js";
import { parseChoice, parseText } from "./usage-error.js";

/** A command's options as typed or as in a config file: a text, a list for a repeated option, true for a switch. */
export type TypedOptions = Readonly<Record<string, unknown>>;

/**
 * The resources that an option's value can access. They decide which options an automatically found configuration
 * file may set (`docs/project/security.md`): only `data` and files that are read as data.
 *
 * - `data`: a number, a name, a choice.
 * - `file`: a file that is read as data.
 * - `name or file`: a file that is read as data if it ends in `.json`, otherwise a name or a text.
 * - `output`: a file or folder that is written, or a switch that causes one to be written.
 * - `code`: a module that is run, or a switch that runs code from the working folder or another program.
 * - `network`: a server that is contacted, or a switch that causes a download.
 */
export type OptionAccess = "data" | "file" | "name or file" | "output" | "code" | "network";

/** Heading of help under which an option is listed. Help shows the `rare` ones only with `--all`. */
export type OptionGroup = "usual" | "device" | "output" | "rare";

/** The declaration of an option, without its flags. */
export interface OptionSpec {
  /** The resources that its value can access, or a function that returns these for a value. */
  readonly access: OptionAccess | ((value: string) => OptionAccess);
  readonly purpose: string;
  readonly default?: string | number;
  /** Values for shell completion. With its own `parse` the option may accept others. */
  readonly choices?: readonly string[];
  /** Parses the text after `--name`. Left out: the value is one of `choices`, or any text. */
  readonly parse?: (name: string, value: unknown) => unknown;
  /** True if its value is a file that the command reads. */
  readonly reads?: true;
  /** The format of an output file. With `text or gzip`, it is gzipped if its name ends in `.gz`. */
  readonly writes?: "text" | "text or gzip";
  /** Returns the file that is written if the option is left out, or undefined if none is. */
  readonly writesByDefault?: (targets: readonly string[], options: TypedOptions) => string | undefined;
  readonly group: OptionGroup;
}

/** One option of a command: its flags, its purpose and how its value is read. */
export interface CommandOption<Value = unknown, Flags extends string = string> extends Omit<OptionSpec, "parse"> {
  /** In commander's notation: `-o, --output <file>`. */
  readonly flags: Flags;
  /**
   * Returns the typed value, the default, or undefined.
   *
   * @throws UsageError naming the option
   */
  readonly read: (options: TypedOptions) => Value;
}

/** Type of an option's value: boolean for a switch, possibly undefined for an option without a default. */
type ValueOf<Flags extends string, Spec extends OptionSpec> = Flags extends `${string}<${string}`
  ? ParsedOf<Spec> | (Spec extends { readonly default: string | number } ? never : undefined)
  : boolean;

type ParsedOf<Spec extends OptionSpec> = Spec extends { readonly parse: (name: string, value: unknown) => infer Parsed }
  ? Parsed
  : Spec extends { readonly choices: readonly (infer Choice)[] }
    ? Choice
    : string;

/** Declares an option: its flags, what its value can access, its purpose, its default, and how its value is parsed. */
export function option<const Flags extends string, const Spec extends OptionSpec>(
  flags: Flags,
  spec: Spec,
): CommandOption<ValueOf<Flags, Spec>, Flags> {
  const { parse: ownParse, ...declared } = spec as OptionSpec;
  const { choices } = declared;
  const isSwitch = !flags.includes("<");
  const parse =
    ownParse ??
    (choices === undefined ? parseText : (name: string, value: unknown) => parseChoice(name, value, choices));
  const read = (options: TypedOptions): unknown => {
    const value = options[optionKey({ flags })] ?? declared.default;
    if (isSwitch) return value === true;
    return value === undefined ? undefined : parse(optionName({ flags }), value);
  };
  return { ...declared, flags, read: read as (options: TypedOptions) => ValueOf<Flags, Spec> };
}

/** Returns options in another group of help. */
export function grouped<const Options extends readonly CommandOption[]>(group: OptionGroup, options: Options): Options {
  return options.map((each) => ({ ...each, group })) as unknown as Options;
}

/** Returns the options except the named ones. */
export function optionsWithout<Option extends CommandOption, const Name extends string>(
  options: readonly Option[],
  names: readonly Name[],
): readonly Exclude<Option, CommandOption<unknown, `--${Name} ${string}`>>[] {
  const isLeft = (each: Option): each is Exclude<Option, CommandOption<unknown, `--${Name} ${string}`>> =>
    !(names as readonly string[]).includes(optionName(each));
  return options.filter(isLeft);
}

type CamelCase<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

/** The key of an option: `maxOverhead` for `--max-overhead <share>`. */
type KeyOf<Flags extends string> = Flags extends `${string}--${infer Rest}`
  ? CamelCase<Rest extends `${infer Name} ${string}` ? Name : Rest>
  : never;

/** Values of options, one field each. */
export type OptionValues<Options extends readonly CommandOption[]> = {
  readonly [Each in Options[number] as KeyOf<Each["flags"]>]: ReturnType<Each["read"]>;
};

/**
 * Returns the values of options. Each is parsed on first access, so the command decides which of two mistakes it
 * reports.
 */
export function readOptions<const Options extends readonly CommandOption[]>(
  options: Options,
  typedOptions: TypedOptions,
): OptionValues<Options> {
  const values = {};
  for (const each of options) {
    let known: { readonly value: unknown } | undefined;
    Object.defineProperty(values, optionKey(each), {
      enumerable: true,
      get: () => (known ??= { value: each.read(typedOptions) }).value,
    });
  }
  return values as OptionValues<Options>;
}

/** Arguments of a command's function. */
export interface Invocation<Options extends readonly CommandOption[]> {
  /** Arguments other than options. */
  readonly targets: readonly string[];
  readonly options: OptionValues<Options>;
  /** The options as typed, for use in a suggested next command. */
  readonly typedOptions: TypedOptions;
  readonly io: ConsoleIo;
}

interface CommandSpec {
  readonly options: readonly CommandOption[];
  /** Three examples for the end of its help. A command without arguments has none. */
  readonly examples: readonly [string, string, string] | readonly [];
  /** The kinds of source that its arguments may be. Help lists them as inputs. */
  readonly takes?: readonly SourceKind[];
  /** Words that a shell may complete in place of a file. */
  readonly words?: readonly string[];
  /** True if its arguments are a program to run, whose words are not interpreted. */
  readonly takesProgram?: true;
}

/** A command of `remat`, as exported by a file in `commands/`. */
export interface Command extends CommandSpec {
  /** Runs the command. A returned number is the exit code. */
  run(targets: readonly string[], typedOptions: TypedOptions, io: ConsoleIo): Promise<number | void>;
}

/** Creates a command from its options and the function that uses their values. */
export function defineCommand<const Options extends readonly CommandOption[]>(
  command: CommandSpec & {
    readonly options: Options;
    readonly run: (given: Invocation<Options>) => Promise<number | void>;
  },
): Command {
  const { options, run } = command;
  return {
    ...command,
    run: (targets, typedOptions, io) => run({ targets, options: readOptions(options, typedOptions), typedOptions, io }),
  };
}

/** An entry of the registry: enough for `remat --help`. The command itself is loaded on use. */
export interface CommandEntry {
  /** Its name and arguments: `<needed>`, `[optional]`, `[several...]`. */
  readonly usage: string;
  /** Its arguments as help shows them. Left out: those of `usage`. */
  readonly shownArguments?: string;
  readonly purpose: string;
  readonly load: () => Promise<Command>;
}

export function nameOfEntry({ usage }: Pick<CommandEntry, "usage">): string {
  return usage.split(" ")[0];
}

/** Returns the name and arguments of a command, as help shows them. */
export function shownUsage({ usage, shownArguments }: Pick<CommandEntry, "usage" | "shownArguments">): string {
  return shownArguments === undefined ? usage : `${nameOfEntry({ usage })} ${shownArguments}`;
}

/** Returns the name of an option without its two dashes. */
export function optionName({ flags }: Pick<CommandOption, "flags">): string {
  return /--([\w-]+)/.exec(flags)![1];
}

/** Returns the field name of an option: `maxOverhead` for `--max-overhead`. */
export function optionKey(option: Pick<CommandOption, "flags">): string {
  return optionName(option).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
