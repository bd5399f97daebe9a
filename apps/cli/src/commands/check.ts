import { existsSync } from "node:fs";
import { dirname, relative, resolve, sep } from "node:path";
import {
  type BaselineStep,
  baselineStep,
  checkMemory,
  type MemoryBaseline,
  type PeakLimit,
  readMemoryBaseline,
  writeMemoryBaseline,
} from "@remat/reporting/baseline";
import { checkDocument } from "@remat/reporting/documents";
import { RematError } from "@remat/trace";
import { readInputText } from "@remat/trace/files";
import { type Command, defineCommand, type Invocation, option } from "../command.js";
import { formatOption, shapeOf, unitsOption } from "../format-option.js";
import { loadTrace } from "../load-trace.js";
import { modelOptionsOf, stepOptions } from "../model-options.js";
import { modelSource } from "../model-source.js";
import { writeFor } from "../output.js";
import { Progress } from "../progress.js";
import { parseBudgetOption, parseShare } from "../typed-quantities.js";
import { parseText, quote, UsageError } from "../usage-error.js";

const options = [
  option("--baseline <file>", {
    group: "usual",
    access: "output",
    reads: true,
    purpose: "Baseline file, as written by --update",
  }),
  option("--max-peak <limit>", {
    group: "usual",
    access: "data",
    purpose: "Limit for the peak of each step: +2% or +50MB over the baseline, or 4GB in total (default: +0%)",
    parse: parseLimit,
  }),
  option("--update", {
    group: "usual",
    access: "output",
    purpose: "Write the baseline instead of checking against it",
  }),
  ...stepOptions,
  formatOption,
  unitsOption,
];

export const checkCommand: Command = defineCommand({
  options,
  examples: [
    "remat check ./my-model.js --baseline memory.json --update",
    "remat check ./my-model.js --baseline memory.json --max-peak +2%",
    "remat check models/*.json --baseline memory.json --max-peak 4GB",
  ],
  takes: ["model", "run"],
  run: check,
});

/** Compares the memory of steps with a baseline (`remat check MODEL`). Returns 1 if one exceeds its limit. */
async function check({ targets, options: given, io }: Invocation<typeof options>): Promise<number> {
  const { format, units, baseline: path, update: isUpdate } = given;
  if (path === undefined)
    throw new UsageError("no baseline to compare with. Pass --baseline memory.json, and add --update to write it.");
  const { maxPeak: limit = { kind: "share", share: 0 } } = given;
  const step = modelOptionsOf(given);
  const progress = new Progress(io);
  const known = isUpdate && !existsSync(path) ? {} : readBaseline(path);
  try {
    const now: Record<string, BaselineStep> = {};
    for (const target of targets)
      now[nameIn(path, target)] = baselineStep(await loadTrace(modelSource(target), step, progress));
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

/**
 * Returns the name of a model in a baseline: its path relative to the baseline. The name is the same from any folder
 * and in any checkout.
 */
function nameIn(baseline: string, target: string): string {
  return relative(dirname(resolve(baseline)), resolve(target))
    .split(sep)
    .join("/");
}

function readBaseline(path: string): MemoryBaseline {
  let text: string;
  try {
    text = readInputText(path);
  } catch (cause) {
    throw new UsageError(
      `--baseline ${quote(path)}: cannot be read (${(cause as Error).message}). Write it with --update.`,
    );
  }
  try {
    return readMemoryBaseline(text);
  } catch (error) {
    if (!(error instanceof RematError)) throw error;
    throw new RematError(error.code, `${path}: ${error.message}`, { cause: error });
  }
}

function parseLimit(name: string, value: unknown): PeakLimit {
  const text = parseText(name, value).trim();
  const more = text.startsWith("+") ? text.slice(1) : undefined;
  if (more !== undefined && /^[\d.]+%$/.test(more)) return { kind: "share", share: parseShare(name, more) };
  const bytes = bytesOf(name, more ?? text);
  if (bytes !== undefined) return more === undefined ? { kind: "most", bytes } : { kind: "more", bytes };
  // A plain number or percentage could mean a growth or a total.
  const [, number] = /^\+?([\d.]+)%?$/.exec(text) ?? [];
  throw new UsageError(
    `--${name} expects a growth, such as +2% or +100MB, or a total, such as 4GB; found ${quote(value)}.${number === undefined ? "" : ` For a growth of ${number}%, type +${number}%.`}`,
  );
}

function bytesOf(name: string, text: string): number | undefined {
  try {
    const budget = parseBudgetOption(name, text);
    return "bytes" in budget ? budget.bytes : undefined;
  } catch {
    return undefined;
  }
}
