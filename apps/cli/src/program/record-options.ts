import { basename, extname } from "node:path";
import type { RecordOrder } from "@remat/program";
import type { CommandOptions } from "../command.js";
import { parseCount, parseText } from "../usage-error.js";

export interface RecordOptions {
  readonly order: RecordOrder;
  /** Where the trace goes; where there are several, each has its number before the extension. */
  readonly output: string;
}

/** Parses what `remat record` was asked for. */
export function parseRecordOptions(options: CommandOptions, program: readonly string[]): RecordOptions {
  return {
    order: {
      kind: "record",
      steps: parseCount("steps", options["steps"]),
      seconds: parseCount("seconds", options["seconds"]),
    },
    output: parseText("output", options["output"] ?? defaultOutput(program)),
  };
}

const extension = ".remat.jsonl";

/** Returns the trace's file where none is named: after the script, or else after the program itself. */
export function defaultOutput(program: readonly string[]): string | undefined {
  const script = program.slice(1).find((argument) => /^[^-].*\.[cm]?[jt]sx?$/.test(argument)) ?? program[0];
  return script === undefined ? undefined : `${basename(script, extname(script))}${extension}`;
}
