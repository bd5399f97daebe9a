import { lstatSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { isPlainObject, parseJsonText, RematError } from "@remat/trace";
import { shell } from "@remat/trace/emit";
import { InputError, readInputText } from "@remat/trace/files";
import { distance } from "fastest-levenshtein";
import {
  type Command,
  type CommandEntry,
  type CommandOption,
  nameOfEntry,
  type OptionAccess,
  optionKey,
  optionName,
  type TypedOptions,
} from "./command.js";
import { commands } from "./commands/registry.js";
import { configurableOptions } from "./global-options.js";
import { UsageError } from "./usage-error.js";

/** Options from a file, used unless typed. */
export interface ConfiguredOptions {
  readonly path: string;
  /** The options by name, in the form that a command receives. */
  readonly options: TypedOptions;
  /**
   * The owner of the file, if that is another user and not root. Such a file's options are ignored, since they may name
   * files to write.
   */
  readonly strangerId?: number;
}

/** Data only: a code file is not run merely because it is in the current folder. */
const searchPlaces = ["package.json", ".rematrc", ".rematrc.json", ".config/rematrc.json"];

/**
 * Reads the options for `command` from a config file: the named one, or the first in `folder` and its parents. The
 * fields of the file are options by name. A field with the name of a command has options for that command alone:
 * `{ "device": "h100", "plan": { "time": "30s" } }`. Options that only other commands have are ignored. Relative paths
 * start at the file's folder. A file that was not named is ignored if it belongs to another user. Such a file may come
 * with a repository, so it cannot set an option that runs code, writes a file or contacts a server.
 *
 * @param typed the options that were typed, which the file does not override
 * @throws RematError `CONFIG_FILE`; UsageError for an option that the command does not have, or that only a named file
 * may set
 */
export async function readConfigFile(
  entry: Pick<CommandEntry, "usage">,
  { options: known }: Pick<Command, "options">,
  folder: string,
  path: string | undefined,
  typed: TypedOptions = {},
): Promise<ConfiguredOptions | undefined> {
  const name = nameOfEntry(entry);
  const found = load(folder, path);
  if (found === undefined) return undefined;
  const { config, filepath } = found;
  const strangerId = path === undefined ? strangerOf(filepath) : undefined;
  if (strangerId !== undefined) return { path: filepath, options: {}, strangerId };
  if (typeof config !== "object" || config === null || Array.isArray(config))
    throw new RematError(
      "CONFIG_FILE",
      `${filepath}: not an object of options. Expected JSON, such as { "device": "h100" }.`,
    );
  const names = new Set(commands.map(nameOfEntry));
  const options: Record<string, unknown> = {};
  const byName = new Map([...known, ...configurableOptions].map((option) => [optionName(option), option]));
  const take = (field: string, value: unknown): void => {
    const option = byName.get(field)!;
    const given = asTyped(filepath, option, value);
    if (given === undefined || typed[optionKey(option)] !== undefined) return;
    if (path === undefined) requireHarmless(filepath, option, given);
    options[optionKey(option)] = fromFolder(dirname(filepath), option, given);
  };
  const given = Object.entries(config as object) as [string, unknown][];
  for (const [field, value] of given) {
    if (byName.has(field)) take(field, value);
    else if (!names.has(field) && !(await allOptions()).has(field))
      throw new UsageError(
        `${filepath}: no command has an option ${meant(field, [...names, ...(await allOptions())])}`,
      );
  }
  for (const [field, value] of given
    .filter(([field]) => field === name)
    .flatMap(([, own]) => ownOptions(filepath, name, own))) {
    if (!byName.has(field))
      throw new UsageError(`${filepath}: remat ${name} has no option ${meant(field, [...byName.keys()])}`);
    take(field, value);
  }
  return { path: filepath, options };
}

function load(
  folder: string,
  path: string | undefined,
): { readonly config: unknown; readonly filepath: string } | undefined {
  if (path !== undefined) {
    const filepath = resolve(path);
    const text = readWhole(filepath);
    if (text === undefined)
      throw new RematError("CONFIG_FILE", `${path}: no such file, or it is not readable. Name a JSON file of options.`);
    return { config: optionsIn(filepath, parse(filepath, text)), filepath };
  }
  for (let at = resolve(folder); ; at = dirname(at)) {
    for (const place of searchPlaces) {
      const filepath = join(at, place);
      const text = readWhole(filepath);
      if (text === undefined || text.trim() === "") continue;
      if (strangerOf(filepath) !== undefined) {
        if (place !== "package.json" || /"remat"/.test(text)) return { config: {}, filepath };
        continue;
      }
      const config = optionsIn(filepath, parse(filepath, text));
      if (config !== undefined) return { config, filepath };
    }
    if (at === homedir() || at === dirname(at)) return undefined;
  }
}

/** The whole file, or for `package.json` its field `remat`. */
function optionsIn(path: string, value: unknown): unknown {
  if (basename(path) !== "package.json") return value;
  return isPlainObject(value) ? value["remat"] : undefined;
}

/** Far more than options need. */
const mostBytes = 2 ** 22;

/**
 * Returns the text of a regular file, or undefined if it does not exist or may not be read.
 *
 * @throws RematError `CONFIG_FILE` for a pipe (reading it would block), a device, or a file that is far too large
 */
function readWhole(path: string): string | undefined {
  try {
    return readInputText(path, { maxBytes: mostBytes });
  } catch (error) {
    if (!(error instanceof InputError) || statSync(path).isDirectory()) return undefined;
    throw new RematError("CONFIG_FILE", `${path}: ${error.message}. Remove the file, or ignore it with --no-config.`);
  }
}

/**
 * Returns the owner of a file, or of a link to it, if that is neither the current user nor root. Windows has no user
 * ids.
 */
function strangerOf(path: string): number | undefined {
  const user = process.getuid?.();
  if (user === undefined) return undefined;
  return [lstatSync(path).uid, statSync(path).uid].find((owner) => owner !== user && owner !== 0);
}

function parse(path: string, content: string): unknown {
  try {
    return parseJsonText(content);
  } catch (cause) {
    throw new RematError(
      "CONFIG_FILE",
      `${path}: not JSON (${(cause as Error).message}). Write options by name, such as { "device": "h100" }.`,
      { cause },
    );
  }
}

function ownOptions(path: string, command: string, value: unknown): [string, unknown][] {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return Object.entries(value);
  throw new RematError(
    "CONFIG_FILE",
    `${path}: "${command}" expects an object of options; found ${JSON.stringify(value)}.`,
  );
}

/** The names of the options of all commands. */
async function allOptions(): Promise<ReadonlySet<string>> {
  const loaded = await Promise.all(commands.map((entry) => entry.load()));
  return new Set(loaded.flatMap(({ options }) => [...options, ...configurableOptions].map(optionName)));
}

function meant(field: string, known: readonly string[]): string {
  const [nearest] = known.toSorted((a, b) => distance(field, a) - distance(field, b));
  return `${JSON.stringify(field)}; did you mean ${JSON.stringify(nearest)}?`;
}

/** Consequences that need the user's consent, so that an automatically found file cannot cause them. */
const consequences: Readonly<Partial<Record<OptionAccess, string>>> = {
  code: "can run code",
  output: "writes or replaces files",
  network: "uses the network",
};

/** An option's value: a list if it is repeated, true for a switch. */
type Given = string | true | readonly string[];

const valuesOf = (given: Given): readonly string[] => (given === true ? [""] : [given].flat());

function accessOf({ access }: CommandOption, value: string): OptionAccess {
  return typeof access === "function" ? access(value) : access;
}

function requireHarmless(path: string, option: CommandOption, given: Given): void {
  const name = optionName(option);
  for (const value of valuesOf(given)) {
    const consequence = consequences[accessOf(option, value)];
    if (consequence === undefined) continue;
    const typedOption = given === true ? shell.word(`--${name}`) : shell.words([`--${name}`, value]);
    throw new UsageError(
      `${path}: "${name}" ${consequence}, so a file that remat found by itself may not set it. ` +
        `Type ${typedOption}, or name the file: ${shell`--config ${shell.path(path)}`}. To ignore it, pass --no-config.`,
    );
  }
}

/** Matches options that always take a path. */
const takesPath = /<(?:file|folder|path|report|other)>/;

function fromFolder(folder: string, option: CommandOption, given: Given): Given {
  const absolute = (value: string): string => {
    if (value === "-") return value;
    if (takesPath.test(option.flags)) return resolve(folder, value);
    if (accessOf(option, value) !== "name or file") return value;
    return value.replace(/(?<=^|[,=])[^,=]+\.json(?=,|$)/g, (file) => resolve(folder, file));
  };
  return given === true ? given : typeof given === "string" ? absolute(given) : given.map(absolute);
}

/** Converts a value in the file to its typed form: text, or true for a switch. False counts as not typed. */
function asTyped(path: string, option: CommandOption, value: unknown): Given | undefined {
  const refuse = (expected: string) =>
    new RematError(
      "CONFIG_FILE",
      `${path}: ${JSON.stringify(optionName(option))} expects ${expected}; found ${JSON.stringify(value)}.`,
    );
  const isSwitch = !option.flags.includes("<");
  if (value === false) return undefined;
  if (value === true) {
    if (isSwitch) return true;
    throw refuse("a value");
  }
  const isText = typeof value === "string" || typeof value === "number";
  const isList = Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string");
  if (!isText && !isList) throw refuse("a text, a number, true or false");
  if (isSwitch) throw refuse("true or false");
  return isText ? String(value) : (value as readonly string[]);
}
