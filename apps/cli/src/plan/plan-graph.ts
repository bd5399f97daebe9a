import { nothingWithin } from "@remat/planner";
import { formatTypedPercent } from "@remat/reporting";
import { graphPlanDocument, infeasibleDocument } from "@remat/reporting/documents";
import { judgeGraph } from "@remat/reporting/verdict";
import { writePlan } from "@remat/trace";
import { isStandardOutput } from "@remat/trace/files";
import { formatExactBytes } from "@remat/trace/text";
import type { ConsoleIo } from "../console-io.js";
import type { ModelSource } from "../model-source.js";
import { shownBeside, writeFor } from "../output.js";
import type { Progress } from "../progress.js";
import { describeBudget } from "../typed-quantities.js";
import { UsageError } from "../usage-error.js";
import { type GivenWords, typed } from "../verdict/next-command.js";
import { withFactsFirst } from "../verdict/show-verdict.js";
import { planGraphFile } from "./plan-graph-file.js";
import { type PlanOptions } from "./plan-options.js";
import { tooDear } from "./refuse.js";
import type { Shown } from "./show-plan.js";

/** Options for training steps, which do not apply to graph files. */
const optionsOfSteps = [
  "batch",
  "size",
  "backend",
  "loss",
  "optimizer",
  "data",
  "unit",
  "group",
  "steps",
  "device",
  "mode",
  "trace",
] as const;

/** The running command. */
interface Running {
  /** Its start, from `performance.now()`, since the time limit covers the whole command. */
  readonly began: number;
  readonly io: ConsoleIo;
  readonly progress: Progress;
}

/** A graph file, and how it was named. */
export interface GivenGraph extends GivenWords {
  readonly source: ModelSource<"graph">;
}

/** Plans a graph file and shows its schedule, for `remat plan`. */
export async function planGraph(
  given: GivenGraph,
  asked: PlanOptions,
  { format, limit, units }: Shown,
  { began, io, progress }: Running,
): Promise<void> {
  const { source, typedOptions } = given;
  const { name } = source;
  for (const option of optionsOfSteps)
    if (typedOptions[option] !== undefined)
      throw new UsageError(`--${option} is for models, and ${name} is a graph. Remove it.`);
  if (asked.pyTorchPolicy !== undefined)
    throw new UsageError(`--pytorch-policy is for PyTorch runs, and ${name} is a graph. Remove it.`);
  if (!asked.method.takes.has("order"))
    throw new UsageError(
      `--method ${asked.method.name} plans modules, and the graph ${name} has no modules. Remove it.`,
    );
  const beside = shownBeside(io, { "-o": asked.output });
  progress.show(`planning ${name}`, true);
  const answer = await planGraphFile(source, began, asked, io, progress);
  progress.clear();
  if ("infeasible" in answer) {
    const { infeasible, inOrderPeakBytes } = answer;
    const { budgetBytes, smallestFoundBytes: peakBytes } = infeasible;
    const facts = judgeGraph(
      { inOrderPeakBytes, budgetBytes, planned: { peakBytes } },
      { units, command: typedPlan(given, asked, "--budget", formatExactBytes(peakBytes)) },
    );
    beside.write(withFactsFirst(infeasibleDocument(infeasible, { units }), facts, format, io));
    throw nothingWithin(infeasible);
  }
  const { summary, notes } = answer;
  const dear = tooDear(name, asked, summary);
  if (dear === undefined && asked.output !== undefined)
    await writeFor("-o", asked.output, writePlan(answer.plan()), io);
  const { inOrder, budgetBytes } = summary;
  const facts = judgeGraph(
    {
      inOrderPeakBytes: inOrder.peakBytes,
      budgetBytes: asked.budget && budgetBytes,
      planned: summary,
    },
    { units, command: nextAfter(given, asked) },
  );
  beside.write(withFactsFirst(graphPlanDocument(summary, { limit, notes, units }), facts, format, io));
  if (dear !== undefined) throw dear;
}

/** The next step is to save the schedule, and then to view it. */
function nextAfter(given: GivenWords, asked: PlanOptions): string {
  const { output, budget, maxOverhead, paretoPoints } = asked;
  if (output !== undefined && !isStandardOutput(output)) return typed("ui", { target: output, typedOptions: {} });
  return typedPlan(
    given,
    asked,
    ...(budget === undefined ? [] : ["--budget", describeBudget(budget)]),
    ...(maxOverhead === undefined ? [] : ["--max-overhead", formatTypedPercent(maxOverhead)]),
    ...(paretoPoints === 0 ? [] : ["--pareto", String(paretoPoints)]),
    "-o",
    "plan.json",
  );
}

function typedPlan(given: GivenWords, { order }: PlanOptions, ...more: readonly string[]): string {
  return typed("plan", given, ...more, ...(order === "free" ? ["--order", order] : []));
}
