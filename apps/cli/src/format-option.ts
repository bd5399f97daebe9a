import { sizeUnits } from "@remat/reporting";
import { type OutputFormat, type OutputShape, outputFormats } from "@remat/reporting/formats";
import { option } from "./command.js";
import type { ConsoleIo } from "./console-io.js";
import { parseChoice } from "./usage-error.js";

const names = outputFormats.map(({ name }) => name);

/** The option of every command that prints results. */
export const formatOption = option("--format <format>", {
  group: "output",
  access: "data",
  purpose: `Output format: ${names.slice(0, -1).join(", ")} or ${names.at(-1)}`,
  default: "table",
  choices: names,
  parse: (name, value): OutputFormat => {
    const chosen = parseChoice(name, value, names);
    return outputFormats.find((format) => format.name === chosen) as OutputFormat;
  },
});

/** Returns the width available for text in that output. */
export function shapeOf({ width }: ConsoleIo): OutputShape {
  return { width };
}

/**
 * Returns how many of the largest items to list: the value of `--top`, or by default 10 for people and all for a
 * spreadsheet.
 */
export function rowsToList(top: number | undefined, { isRecords }: OutputFormat): number {
  return top ?? (isRecords === true ? Number.POSITIVE_INFINITY : 10);
}

/** The option of every command that prints sizes. */
export const unitsOption = option("--units <unit>", {
  group: "rare",
  access: "data",
  purpose: `Unit of printed sizes: ${sizeUnits.slice(0, -1).join(", ")} or ${sizeUnits.at(-1)}`,
  default: "auto",
  choices: sizeUnits,
});
