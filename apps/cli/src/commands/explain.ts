import { judgeAllocatorLog, readAllocatorLogs, storagesOfChunks } from "@remat/memory/failure";
import { allocatorDocument, allocatorFacts } from "@remat/reporting/documents";
import { RematError } from "@remat/trace";
import { shell } from "@remat/trace/emit";
import { readInput } from "@remat/trace/files";
import { formatExactBytes } from "@remat/trace/text";
import { type Command, defineCommand, grouped, type Invocation } from "../command.js";
import { formatOption, unitsOption } from "../format-option.js";
import { loadTrace } from "../load-trace.js";
import { modelOptionsOf } from "../model-options.js";
import { modelSource } from "../model-source.js";
import { Progress } from "../progress.js";
import { withFactsFirst } from "../verdict/show-verdict.js";

const options = [...grouped("usual", [formatOption]), unitsOption];

export const explainCommand: Command = defineCommand({
  options,
  examples: ["remat explain oom.log", "remat explain oom.log train.remat.jsonl", "remat explain oom.log --format json"],
  run: explain,
});

/**
 * Explains the out-of-memory errors of a log (`remat explain LOG [TRACE]`): the failed allocation, the reason, and the
 * tensors that used each piece of memory.
 */
async function explain({
  targets: [path, trace],
  options: { format, units },
  io,
}: Invocation<typeof options>): Promise<void> {
  const reports = readAllocatorLogs(readLog(path), path).map((log) => ({ log, verdict: judgeAllocatorLog(log) }));
  const last = reports.at(-1) as (typeof reports)[number];
  const { log, verdict } = last;
  const progress = new Progress(io);
  try {
    const source = trace === undefined ? undefined : modelSource(trace);
    const recorded = source && (await loadTrace(source, modelOptionsOf({}), progress, { damaged: "keep" }));
    const summary = { ...last, others: reports.slice(0, -1), storages: recorded && storagesOfChunks(log, recorded) };
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
      `${path}: cannot be read (${(cause as Error).message}). Name a log of TensorFlow or PyTorch.`,
      { cause },
    );
  }
}
