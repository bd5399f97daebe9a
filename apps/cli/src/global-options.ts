import { type CommandOption, option, readOptions, type TypedOptions } from "./command.js";
import type { ConsoleIo } from "./console-io.js";
import { parseCount, parseText } from "./usage-error.js";

/** Global options that a config file may also set. */
export const configurableOptions = [
  option("--color <when>", {
    group: "rare",
    access: "data",
    purpose: "When to use colours: auto, always or never. auto follows NO_COLOR and FORCE_COLOR (default: auto)",
    choices: ["auto", "always", "never"],
  }),
  option("--width <n>", {
    group: "rare",
    access: "data",
    purpose: "Maximum width of tables, in characters (default: the terminal width, unlimited in a pipe)",
    parse: (name, value) => parseCount(name, value, 40),
  }),
];

/** Commander represents `--no-config` as a `config` that is false. */
export const configOption = option("--config <file>", {
  group: "rare",
  access: "file",
  purpose:
    "Read options from this file (default: .rematrc, .rematrc.json or package.json in this folder or a folder above)",
  parse: (name, value) => (value === false ? false : value === true ? undefined : parseText(name, value)),
});

/** Read by help only. */
export const allOption = option("--all", { group: "usual", access: "data", purpose: "With --help: show every option" });

/** The options of every command, which are also accepted without a command. */
export const globalOptions: readonly CommandOption[] = [
  allOption,
  ...configurableOptions,
  configOption,
  option("--no-config", { group: "rare", access: "data", purpose: "Ignore configuration files" }),
];

/**
 * Returns the output of a command with the width and colours of its global options.
 *
 * @throws UsageError naming the option
 */
export function shapedIo(io: ConsoleIo, typedOptions: TypedOptions): ConsoleIo {
  const { color: when = "auto", width = io.width } = readOptions(configurableOptions, typedOptions);
  const env = when === "auto" ? io.env : { ...io.env, ...colorEnvironment[when] };
  return { ...io, env, hasColors: wantsColors(env, io.hasColors ?? false), width };
}

/** Environment variables for each choice, for code that reads only those. */
const colorEnvironment = {
  always: { FORCE_COLOR: "1", NO_COLOR: undefined },
  never: { FORCE_COLOR: undefined, NO_COLOR: "1" },
} as const;

/** Follows Node's own streams: FORCE_COLOR, then NO_COLOR, then whether the output is a terminal. */
function wantsColors(env: ConsoleIo["env"], isTerminal: boolean): boolean {
  const { FORCE_COLOR, NO_COLOR, TERM } = env;
  if (FORCE_COLOR !== undefined) return !["0", "false"].includes(FORCE_COLOR);
  return (NO_COLOR ?? "") === "" && isTerminal && TERM !== "dumb";
}
