import { RematError } from "@remat/trace";
import { distance } from "fastest-levenshtein";
import { lilconfigSync } from "lilconfig";
import { type Command, type CommandEntry, type CommandOptions, nameOfEntry, optionKey, optionName } from "./command.js";
import { commands } from "./commands/registry.js";
import { globalOptions } from "./global-options.js";
import { UsageError } from "./usage-error.js";

/** Options that a file gives in place of the command line's. */
export interface ConfiguredOptions {
  readonly path: string;
  /** By name, as a command is given them. */
  readonly options: CommandOptions;
}

/** Data only: a file of code in a folder that somebody merely looks into is not run. */
const searchPlaces = ["package.json", ".rematrc", ".rematrc.json", ".config/rematrc.json"];

/**
 * Reads the options for `command` from a config file: the one named, or the first in `folder` and those above it. Its fields are options by name,
 * and the names of commands with options for these alone: `{ "device": "h100", "plan": { "time": "30s" } }`. Options that only other commands have
 * are left out.
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
  if (typeof config !== "object" || config === null || Array.isArray(config))
    throw new RematError("CONFIG_FILE", `${filepath}: expected an object of options, such as { "device": "h100" }.`);
  const names = new Set(commands.map(nameOfEntry));
  const options: Record<string, unknown> = {};
  const byName = new Map(known.map((option) => [optionName(option), option]));
  const take = (field: string, value: unknown): void => {
    options[optionKey(byName.get(field)!)] = typed(filepath, field, value);
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
  const explorer = lilconfigSync("remat", { searchPlaces, loaders: { noExt: parse, ".json": parse } });
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

function parse(path: string, content: string): unknown {
  try {
    return JSON.parse(content) as unknown;
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
  return new Set(loaded.flatMap(({ options }) => [...options, ...globalOptions].map(optionName)));
}

function meant(field: string, known: readonly string[]): string {
  const [nearest] = known.toSorted((a, b) => distance(field, a) - distance(field, b));
  return `${JSON.stringify(field)}; did you mean ${JSON.stringify(nearest)}?`;
}

/** What stands in a file is as if it had been typed: texts, and true for a switch. */
function typed(path: string, field: string, value: unknown): unknown {
  if (typeof value === "boolean" || typeof value === "string") return value === false ? undefined : value;
  if (typeof value === "number") return String(value);
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value;
  throw new RematError(
    "CONFIG_FILE",
    `${path}: ${JSON.stringify(field)} expects a text, a number, true or false, found ${JSON.stringify(value)}.`,
  );
}
