import type { CommandOption, CommandOptions } from "./command.js";
import type { ConsoleIo } from "./console-io.js";
import { parseChoice, parseCount } from "./usage-error.js";

const colorChoices = ["auto", "always", "never"] as const;

/** Those options of every command that a config file may give, too. */
export const configurableOptions: readonly CommandOption[] = [
  {
    flags: "--color <when>",
    access: "data",
    purpose: "auto, always or never; auto heeds NO_COLOR and FORCE_COLOR (default: auto)",
    choices: colorChoices,
  },
  {
    flags: "--width <n>",
    access: "data",
    purpose: "Columns that tables may take (default: the terminal's; of a pipe, all they need)",
  },
];

/** The options of every command, and of none. */
export const globalOptions: readonly CommandOption[] = [
  ...configurableOptions,
  {
    flags: "--config <file>",
    access: "file",
    purpose: "Options from there (default: .rematrc, .rematrc.json or package.json above)",
  },
  { flags: "--no-config", access: "data", purpose: "No options but those typed" },
];

/**
 * Returns where a command writes, as wide and as colourful as its global options say.
 *
 * @throws UsageError naming the option
 */
export function shapedIo(io: ConsoleIo, options: CommandOptions): ConsoleIo {
  const { color } = options;
  const when = color === undefined ? "auto" : parseChoice("color", color, colorChoices);
  const columns = parseWidth(options) ?? io.width;
  const env = when === "auto" ? io.env : { ...io.env, ...colorEnvironment[when] };
  return {
    ...io,
    env,
    hasColors: wantsColors(env, io.hasColors ?? false),
    ...(columns !== undefined && { width: columns }),
  };
}

/**
 * Parses how many columns a table may take; undefined: not said.
 *
 * @throws UsageError
 */
export function parseWidth({ width }: CommandOptions): number | undefined {
  return width === undefined ? undefined : parseCount("width", width, 40);
}

/** What stands for each choice in the environment, for everything that reads only that. */
const colorEnvironment = {
  always: { FORCE_COLOR: "1", NO_COLOR: undefined },
  never: { FORCE_COLOR: undefined, NO_COLOR: "1" },
} as const;

/** As Node's own streams decide: FORCE_COLOR, then NO_COLOR, then whether a terminal reads it. */
function wantsColors(env: ConsoleIo["env"], isTerminal: boolean): boolean {
  const { FORCE_COLOR, NO_COLOR, TERM } = env;
  if (FORCE_COLOR !== undefined) return !["0", "false"].includes(FORCE_COLOR);
  return (NO_COLOR ?? "") === "" && isTerminal && TERM !== "dumb";
}
