import { judgeAllocatorLog, readAllocatorLog, storagesOfChunks } from "@remat/memory/failure";
import { allocatorDocument, allocatorFacts } from "@remat/reporting/documents";
import { RematError } from "@remat/trace";
import { shell } from "@remat/trace/emit";
import { readInput } from "@remat/trace/files";
import { formatExactBytes } from "@remat/trace/text";
import type { Command, CommandOptions } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { formatOption, parseFormat, parseUnits, unitsOption } from "../format-option.js";
import { loadTrace } from "../load-trace.js";
import { parseModelOptions } from "../model-options.js";
import { modelSource } from "../model-source.js";
import { Progress } from "../progress.js";
import { withFactsFirst } from "../verdict/show-verdict.js";

/** `remat explain`. */
export const explainCommand: Command = {
  options: [formatOption, unitsOption],
  examples: ["remat explain oom.log", "remat explain oom.log train.remat.jsonl"],
  run: ([log, trace], options, io) => explain(log, trace, options, io),
};

/** Explains what an allocator logs when it has no memory left (`remat explain LOG [TRACE]`): what was asked for, who held the rest, in which pieces. */
export async function explain(
  path: string,
  trace: string | undefined,
  options: CommandOptions,
  io: ConsoleIo,
): Promise<void> {
  const format = parseFormat(options);
  const units = parseUnits(options);
  const log = readAllocatorLog(readLog(path), path);
  const verdict = judgeAllocatorLog(log);
  const progress = new Progress(io);
  try {
    const source = trace === undefined ? undefined : modelSource(trace);
    const recorded = source && (await loadTrace(source, parseModelOptions({}), progress, { damaged: "keep" }));
    const summary = { log, verdict, ...(recorded && { storages: storagesOfChunks(log, recorded) }) };
    const { limitBytes } = log;
    const command =
      trace === undefined || verdict !== "full" || limitBytes === undefined
        ? undefined
        : shell.words(["remat", "plan", trace, "--budget", formatExactBytes(limitBytes)]);
    progress.clear();
    const facts = allocatorFacts(summary, { units, command });
    io.stdout.write(withFactsFirst(allocatorDocument(summary, units), facts, format, io));
  } finally {
    progress.clear();
  }
}

function readLog(path: string): string {
  try {
    const bytes = readInput(path);
    // PowerShell's `2>` writes UTF-16.
    return new TextDecoder(bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : "utf-8").decode(bytes);
  } catch (cause) {
    throw new RematError(
      "LOG_UNREADABLE",
      `${path}: cannot be read (${(cause as Error).message}). Expected a log of TensorFlow or PyTorch.`,
      { cause },
    );
  }
}
