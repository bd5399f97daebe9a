import { basename, extname } from "node:path";
import type { RecordOrder } from "@remat/program";
import { type OptionValues, option } from "../command.js";
import { parseCount, parseText } from "../usage-error.js";

export interface RecordOptions {
  readonly order: RecordOrder;
  /** Output file of the trace. Several traces get a number before the extension. */
  readonly output: string;
}

/** The options of `remat record`. */
export const recordProgramOptions = [
  option("-o, --output <file>", {
    group: "output",
    access: "output",
    purpose:
      "File of the trace, an Arrow file if the name ends in .arrow, gzipped if it ends in .gz (default: named after the script)",
    writes: "text or gzip",
    writesByDefault: defaultOutput,
  }),
  option("--steps <n>", {
    group: "usual",
    access: "data",
    purpose: "Number of steps to record per model and optimizer",
    default: 5,
    parse: parseCount,
  }),
  option("--seconds <n>", {
    group: "usual",
    access: "data",
    purpose: "Seconds to look for other models after the first step",
    default: 60,
    parse: parseCount,
  }),
];

/** Parses the options of `remat record`. */
export function recordOptionsOf(
  { steps, seconds, output }: OptionValues<typeof recordProgramOptions>,
  program: readonly string[],
): RecordOptions {
  // An empty command line has already been rejected.
  return { order: { kind: "record", steps, seconds }, output: output ?? parseText("output", defaultOutput(program)) };
}

const extension = ".remat.jsonl";

/** Returns the default file of the trace, named after the script, or else after the program. */
export function defaultOutput(program: readonly string[]): string | undefined {
  const script = program.slice(1).find((argument) => /^[^-].*\.[cm]?[jt]sx?$/.test(argument)) ?? program[0];
  return script === undefined ? undefined : `${basename(script, extname(script))}${extension}`;
}
