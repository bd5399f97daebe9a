import { existsSync, readFileSync } from "node:fs";
import {
  type BaselineStep,
  baselineStep,
  checkDocument,
  checkMemory,
  type MemoryBaseline,
  type PeakLimit,
  readMemoryBaseline,
  writeMemoryBaseline,
} from "@remat/reporting";
import { RematError } from "@remat/trace";
import type { Command, CommandOptions } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { formatOption, parseFormat, parseUnits, shapeOf, unitsOption } from "../format-option.js";
import { loadTrace } from "../load-trace.js";
import { parseModelOptions, stepOptions } from "../model-options.js";
import { modelSource } from "../model-source.js";
import { writeFor } from "../output.js";
import { parseBudgetOption, parseShare } from "../plan/plan-options.js";
import { Progress } from "../progress.js";
import { parseText, quote, UsageError } from "../usage-error.js";

/** `remat check`. */
export const checkCommand: Command = {
  options: [
    { flags: "--baseline <file>", reads: true, purpose: "What steps held, as --update writes it" },
    {
      flags: "--max-peak <limit>",
      purpose: "What a step may hold: +2% or +50MB more than it did, or 4GB in all (default: +0%)",
    },
    { flags: "--update", purpose: "Write what the steps hold to the baseline, in place of checking" },
    ...stepOptions,
    formatOption,
    unitsOption,
  ],
  examples: [
    "remat check ./my-model.js --baseline memory.json --update",
    "remat check ./my-model.js --baseline memory.json --max-peak +2%",
  ],
  takes: ["model", "run"],
  run: (targets, options, io) => check(targets, options, io),
};

/** Holds (`remat check MODEL`) what steps hold against what they held; returns 1 where one holds more than it may. */
export async function check(targets: readonly string[], options: CommandOptions, io: ConsoleIo): Promise<number> {
  const format = parseFormat(options);
  const units = parseUnits(options);
  if (options["baseline"] === undefined)
    throw new UsageError("expected what to hold the steps against: --baseline memory.json; --update writes it.");
  const path = parseText("baseline", options["baseline"]);
  const limit =
    options["maxPeak"] === undefined ? ({ kind: "share", share: 0 } as const) : parseLimit(options["maxPeak"]);
  const given = parseModelOptions(options);
  const progress = new Progress(io);
  const isUpdate = options["update"] === true;
  const known = isUpdate && !existsSync(path) ? {} : readBaseline(path);
  try {
    const now: Record<string, BaselineStep> = {};
    for (const target of targets) now[target] = baselineStep(await loadTrace(modelSource(target), given, progress));
    progress.clear();
    if (isUpdate) {
      await writeFor("--baseline", path, writeMemoryBaseline({ ...known, ...now }), io);
      return 0;
    }
    const found = checkMemory(now, known, limit);
    io.stdout.write(format.write(checkDocument(found, { units }), shapeOf(io)));
    return found.passes ? 0 : 1;
  } finally {
    progress.clear();
  }
}

function readBaseline(path: string): MemoryBaseline {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new UsageError(
      `--baseline ${quote(path)}: cannot be read (${(cause as Error).message}). --update writes it.`,
    );
  }
  try {
    return readMemoryBaseline(text);
  } catch (error) {
    if (!(error instanceof RematError)) throw error;
    throw new RematError(error.code, `${path}: ${error.message}`, { cause: error });
  }
}

function parseLimit(value: unknown): PeakLimit {
  const text = parseText("max-peak", value).trim();
  if (!text.startsWith("+")) {
    const budget = parseBudgetOption(text, "max-peak");
    if ("bytes" in budget) return { kind: "most", bytes: budget.bytes };
    throw new UsageError(`--max-peak expects +2%, +50MB or a size in all, 4GB; found ${quote(value)}.`);
  }
  const more = text.slice(1);
  if (/%$|^[\d.]+$/.test(more)) return { kind: "share", share: parseShare("max-peak", more) };
  const budget = parseBudgetOption(more, "max-peak");
  if ("bytes" in budget) return { kind: "more", bytes: budget.bytes };
  throw new UsageError(`--max-peak expects +2%, +50MB or a size in all, 4GB; found ${quote(value)}.`);
}
