import { basename, extname } from "node:path";
import type { RecordOrder } from "@remat/program";
import { type OptionValues, option } from "../command.js";
import { parseCount, parseText } from "../usage-error.js";

export interface RecordOptions {
  readonly order: RecordOrder;
  /** Where the trace goes; where there are several, each has its number before the extension. */
  readonly output: string;
}

/** The options of `remat record`. */
export const recordProgramOptions = [
  option("-o, --output <file>", {
    access: "output",
    purpose: "The trace's file, gzipped where it ends in .gz (default: named after the script)",
    writes: "text or gzip",
    writesByDefault: defaultOutput,
  }),
  option("--steps <n>", {
    access: "data",
    purpose: "How many steps to record of each model and optimizer",
    default: 5,
    parse: parseCount,
  }),
  option("--seconds <n>", {
    access: "data",
    purpose: "How long after the first step to look for other models",
    default: 60,
    parse: parseCount,
  }),
];

/** Returns what `remat record` was asked for. */
export function recordOptionsOf(
  { steps, seconds, output }: OptionValues<typeof recordProgramOptions>,
  program: readonly string[],
): RecordOptions {
  // An empty command line is refused before.
  return { order: { kind: "record", steps, seconds }, output: output ?? parseText("output", defaultOutput(program)) };
}

const extension = ".remat.jsonl";

/** Returns the trace's file where none is named: after the script, or else after the program itself. */
export function defaultOutput(program: readonly string[]): string | undefined {
  const script = program.slice(1).find((argument) => /^[^-].*\.[cm]?[jt]sx?$/.test(argument)) ?? program[0];
  return script === undefined ? undefined : `${basename(script, extname(script))}${extension}`;
}
