import { lstatSync, statSync } from "node:fs";
import { parseJsonText, RematError } from "@remat/trace";
import { distance } from "fastest-levenshtein";
import { lilconfigSync } from "lilconfig";
import {
  type Command,
  type CommandEntry,
  type CommandOption,
  type CommandOptions,
  nameOfEntry,
  optionKey,
  optionName,
} from "./command.js";
import { commands } from "./commands/registry.js";
import { configurableOptions } from "./global-options.js";
import { UsageError } from "./usage-error.js";

/** Options that a file gives in place of the command line's. */
export interface ConfiguredOptions {
  readonly path: string;
  /** By name, as a command is given them. */
  readonly options: CommandOptions;
  /** The user, other than this one and root, whose file it is: its options are left out, since they may name files to write. */
  readonly strangerId?: number;
}

/** Data only: a file of code in a folder that somebody merely looks into is not run. */
const searchPlaces = ["package.json", ".rematrc", ".rematrc.json", ".config/rematrc.json"];

/**
 * Reads the options for `command` from a config file: the one named, or the first in `folder` and those above it. Its fields are options by name,
 * and the names of commands with options for these alone: `{ "device": "h100", "plan": { "time": "30s" } }`. Options that only other commands have
 * are left out, and all of a file that was not named and belongs to another user.
 *
 * @throws RematError `CONFIG_FILE`; UsageError for an option that the command does not have
 */
export async function readConfigFile(
  entry: Pick<CommandEntry, "usage">,
  { options: known }: Pick<Command, "options">,
  folder: string,
  path: string | undefined,
): Promise<ConfiguredOptions | undefined> {
  const name = nameOfEntry(entry);
  const found = load(folder, path);
  if (found === undefined) return undefined;
  const { config, filepath } = found;
  const strangerId = path === undefined ? strangerOf(filepath) : undefined;
  if (strangerId !== undefined) return { path: filepath, options: {}, strangerId };
  if (typeof config !== "object" || config === null || Array.isArray(config))
    throw new RematError("CONFIG_FILE", `${filepath}: expected an object of options, such as { "device": "h100" }.`);
  const names = new Set(commands.map(nameOfEntry));
  const options: Record<string, unknown> = {};
  const byName = new Map([...known, ...configurableOptions].map((option) => [optionName(option), option]));
  const take = (field: string, value: unknown): void => {
    const option = byName.get(field)!;
    const text = typed(filepath, option, value);
    if (text !== undefined) options[optionKey(option)] = text;
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
  const read = (file: string, content: string): unknown => {
    try {
      return parse(file, content);
    } catch (error) {
      if (path === undefined && strangerOf(file) !== undefined) return {};
      throw error;
    }
  };
  const explorer = lilconfigSync("remat", { searchPlaces, loaders: { noExt: read, ".json": read } });
  try {
    return (path === undefined ? explorer.search(folder) : explorer.load(path)) ?? undefined;
  } catch (cause) {
    if (cause instanceof RematError) throw cause;
    throw new RematError(
      "CONFIG_FILE",
      `${path ?? folder}: no config file can be read there (${(cause as Error).message}). Expected JSON, such as { "device": "h100" }.`,
      { cause },
    );
  }
}

/** Returns the user whose file, or whose link to a file, this is, where that is neither this one nor root. Windows has no such numbers. */
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
      `${path}: not JSON (${(cause as Error).message}). Expected options by name, such as { "device": "h100" }.`,
      { cause },
    );
  }
}

function ownOptions(path: string, command: string, value: unknown): [string, unknown][] {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return Object.entries(value);
  throw new RematError(
    "CONFIG_FILE",
    `${path}: "${command}" expects an object of options, found ${JSON.stringify(value)}.`,
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

/** What stands in a file is as if it had been typed: texts, and true for a switch; what is false is not typed. */
function typed(path: string, option: CommandOption, value: unknown): unknown {
  const refuse = (expected: string) =>
    new RematError(
      "CONFIG_FILE",
      `${path}: ${JSON.stringify(optionName(option))} expects ${expected}, found ${JSON.stringify(value)}.`,
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
  return isText ? String(value) : value;
}
