import type { ConsoleIo } from "./console-io.js";
import type { SourceKind } from "./importers/importer.js";
import { parseChoice, parseText } from "./usage-error.js";

/** A command's options as they were typed or as a config file has them: a text, a list if one was given several times, true for a switch. */
export type TypedOptions = Readonly<Record<string, unknown>>;

/**
 * What the value of an option can reach. It decides what a configuration file that was found may set (`docs/project/security.md`): only `data` and files that are read as data.
 *
 * - `data`: a number, a name, a choice.
 * - `file`: a file that is read as data.
 * - `name or file`: a file that is read as data where it ends in `.json`, otherwise a name or a text.
 * - `output`: a file or folder that is written, or a switch that has one written.
 * - `code`: a module that is run, or a switch by which code from the working folder or another program is run.
 * - `network`: a server that is asked, or a switch by which something is downloaded.
 */
export type OptionAccess = "data" | "file" | "name or file" | "output" | "code" | "network";

/** What is declared of an option besides its flags. */
export interface OptionSpec {
  /** What its value can reach, or how that is told by the value. */
  readonly access: OptionAccess | ((value: string) => OptionAccess);
  readonly purpose: string;
  readonly default?: string | number;
  /** Values that a shell may complete; a command may take others besides, if it has its own `parse`. */
  readonly choices?: readonly string[];
  /** Parses what was typed after `--name`. Left out: one of `choices`, or any text. */
  readonly parse?: (name: string, value: unknown) => unknown;
  /** Whether its value is a file that the command reads. */
  readonly reads?: true;
  /** Of one whose value is a file that is written: as text whatever its name is, or gzipped where that ends in `.gz`. */
  readonly writes?: "text" | "text or gzip";
  /** Returns the file that is written where the option is left out, if any is. */
  readonly writesByDefault?: (targets: readonly string[], options: TypedOptions) => string | undefined;
  /** Under which heading help lists it; left out: with the command's own. */
  readonly group?: string;
}

/** One option of a command: how it is typed, what it is for, and how its value is read. */
export interface CommandOption<Value = unknown, Flags extends string = string> extends Omit<OptionSpec, "parse"> {
  /** As commander writes it: `-o, --output <file>`. */
  readonly flags: Flags;
  /**
   * Returns its value among what was typed, its default, or undefined.
   *
   * @throws UsageError naming the option
   */
  readonly read: (options: TypedOptions) => Value;
}

/** The type of the value of an option that is declared so: a switch is true or false, an option without a default may be undefined. */
type ValueOf<Flags extends string, Spec extends OptionSpec> = Flags extends `${string}<${string}`
  ? ParsedOf<Spec> | (Spec extends { readonly default: string | number } ? never : undefined)
  : boolean;

type ParsedOf<Spec extends OptionSpec> = Spec extends { readonly parse: (name: string, value: unknown) => infer Parsed }
  ? Parsed
  : Spec extends { readonly choices: readonly (infer Choice)[] }
    ? Choice
    : string;

/** Declares an option, once: its flags, what its value can reach, what it is for, its default, and how its value is parsed. */
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

/** Returns options under a heading of help. */
export function grouped<const Options extends readonly CommandOption[]>(group: string, options: Options): Options {
  return options.map((each) => ({ ...each, group })) as unknown as Options;
}

/** Returns those options that are not named. */
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

/** `maxOverhead` of `--max-overhead <share>`. */
type KeyOf<Flags extends string> = Flags extends `${string}--${infer Rest}`
  ? CamelCase<Rest extends `${infer Name} ${string}` ? Name : Rest>
  : never;

/** The values of options: a field for each. */
export type OptionValues<Options extends readonly CommandOption[]> = {
  readonly [Each in Options[number] as KeyOf<Each["flags"]>]: ReturnType<Each["read"]>;
};

/** Returns the values of options. Each is parsed when it is first asked for, so a command decides which of two mistakes it reports. */
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

/** What a command is run with. */
export interface Invocation<Options extends readonly CommandOption[]> {
  /** What was given besides options. */
  readonly targets: readonly string[];
  readonly options: OptionValues<Options>;
  /** The same as they were typed, for a command line to go on with. */
  readonly typedOptions: TypedOptions;
  readonly io: ConsoleIo;
}

interface CommandSpec {
  readonly options: readonly CommandOption[];
  readonly examples: readonly string[];
  /** Of a command that takes MODEL: what that may give. */
  readonly takes?: readonly SourceKind[];
  /** What a shell may complete in place of a file: the words that it takes. */
  readonly words?: readonly string[];
  /** Whether what it is given besides options is a program to run, of which no word means anything to us. */
  readonly takesProgram?: true;
}

/** A command of `remat`: what a file in `commands/` exports. */
export interface Command extends CommandSpec {
  /** Runs it with what was given besides options; what it returns, if anything, is the exit code. */
  run(targets: readonly string[], typedOptions: TypedOptions, io: ConsoleIo): Promise<number | void>;
}

/** Makes a command of its options and of what it does with their values. */
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
