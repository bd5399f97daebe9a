import { judgeAllocatorLog, storagesOfChunks, tensorsOfRequest } from "@remat/memory/failure";
import { allocatorDocument, allocatorFacts } from "@remat/reporting/documents";
import { shell } from "@remat/trace/emit";
import { formatExactBytes } from "@remat/trace/text";
import { type Command, defineCommand, grouped, type Invocation } from "../command.js";
import { formatOption, unitsOption } from "../format-option.js";
import { loadTrace } from "../load-trace.js";
import { modelOptionsOf } from "../model-options.js";
import { modelSource } from "../model-source.js";
import { Progress } from "../progress.js";
import { readFailureReports } from "../read-failure-reports.js";
import { withFactsFirst } from "../verdict/show-verdict.js";

const options = [...grouped("usual", [formatOption]), unitsOption];

export const explainCommand: Command = defineCommand({
  options,
  examples: ["remat explain oom.log", "remat explain oom.log train.remat.jsonl", "remat explain snapshot.json.gz"],
  run: explain,
});

/**
 * Explains the out-of-memory errors of a log or an allocator's snapshot (`remat explain LOG [TRACE]`): the failed
 * allocation, the reason, and the tensors that used each piece of memory.
 */
async function explain({
  targets: [path, trace],
  options: { format, units },
  io,
}: Invocation<typeof options>): Promise<void> {
  const reports = (await readFailureReports(path)).map((log) => ({ log, verdict: judgeAllocatorLog(log) }));
  const last = reports.at(-1) as (typeof reports)[number];
  const { log, verdict } = last;
  const progress = new Progress(io);
  try {
    const source = trace === undefined ? undefined : modelSource(trace);
    const recorded = source && (await loadTrace(source, modelOptionsOf({}), progress, { damaged: "keep" }));
    const summary = {
      ...last,
      others: reports.slice(0, -1),
      storages: recorded && storagesOfChunks(log, recorded),
      requested: recorded && tensorsOfRequest(log, recorded),
    };
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
