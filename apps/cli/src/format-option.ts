import { type SizeUnit, sizeUnits } from "@remat/reporting";
import { type OutputFormat, type OutputShape, outputFormats } from "@remat/reporting/formats";
import type { CommandOption, CommandOptions } from "./command.js";
import type { ConsoleIo } from "./console-io.js";
import { parseChoice, parseCount } from "./usage-error.js";

const names = outputFormats.map(({ name }) => name);

/** The option of every command that prints what it finds. */
export const formatOption: CommandOption = {
  flags: "--format <format>",
  access: "data",
  purpose: `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`,
  default: "table",
  choices: names,
  group: "Output",
};

/**
 * Parses the format of the output.
 *
 * @throws UsageError
 */
export function parseFormat(options: CommandOptions): OutputFormat {
  const name = parseChoice("format", options["format"], names);
  return outputFormats.find((format) => format.name === name) as OutputFormat;
}

/** Returns how wide a text may be that is written there. */
export function shapeOf({ width }: ConsoleIo): OutputShape {
  return width === undefined ? {} : { width };
}

/** Tells how many of the largest things `--top` asks for: 10 for people, and all for a spreadsheet, where nobody says. */
export function rowsToList({ top }: CommandOptions, { isRecords }: OutputFormat): number {
  return top === undefined ? (isRecords === true ? Number.POSITIVE_INFINITY : 10) : parseCount("top", top);
}

/** The option of every command that prints sizes. */
export const unitsOption: CommandOption = {
  flags: "--units <unit>",
  access: "data",
  purpose: `Of sizes: ${sizeUnits.slice(0, -1).join(", ")} or ${sizeUnits.at(-1)}`,
  default: "auto",
  choices: sizeUnits,
  group: "Output",
};

/** Returns the unit that `--units` names. @throws UsageError */
export function parseUnits({ units }: CommandOptions): SizeUnit {
  return parseChoice("units", units ?? "auto", sizeUnits);
}
