import { InfeasibleBudgetError } from "@remat/planner";
import {
  type CompiledBudget,
  type CompiledModel,
  planTorchCompile,
  type TorchCompileAnswer,
  torchCompileExecutor,
} from "@remat/planner/executors";
import { planMethods } from "@remat/planner/methods";
import { formatOverhead, formatTypedPercent } from "@remat/reporting";
import {
  activationBudgetLine,
  type CompiledPlanPoint,
  type CompiledPlanSummary,
  compiledPlanDocument,
} from "@remat/reporting/documents";
import { judgeGraph } from "@remat/reporting/verdict";
import { RematError } from "@remat/trace";
import { formatBytes, formatTypedBytes } from "@remat/trace/text";
import { type OptionValues, optionKey, type TypedOptions } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { importerOf, type ModelSource } from "../model-source.js";
import { shownBeside, writeFor } from "../output.js";
import { pricingOf, type pricingOptions } from "../pricing-options.js";
import type { Progress } from "../progress.js";
import { UsageError } from "../usage-error.js";
import { withFactsFirst } from "../verdict/show-verdict.js";
import type { PlanOptions } from "./plan-options.js";
import type { Shown } from "./show-plan.js";

/** The schema of the file that `-o` writes. */
const planSchema = "torch-compile-plan/1";

/** Default for the allowed overhead. */
const usualOverhead = 0.05;

/** Options for steps, searches and other executors. */
const optionsOfOthers = [
  ...["batch", "size", "loss", "optimizer", "data", "layers", "backend", "unit", "group", "checkpointing", "steps"],
  ...["predict", "mode", "trace", "module-budget", "iterations", "workers", "whole-modules", "link", "module"],
  ...["checkpoint", "fsdp-units", "fsdp", "fsdp-code", "network", "pytorch-policy", "order", "method", "world-size"],
];

/** Defaults that count as not given. */
const usual: Readonly<Record<string, unknown>> = { order: "fixed", method: planMethods[0].name, worldSize: 1 };

/** Rejects an executor for compiled models if the source is not a compiled model. */
export function refuseCompiledExecutor({ executor }: PlanOptions, name: string): void {
  if (executor?.plans !== "compiled") return;
  throw new UsageError(
    `--executor ${executor.name} is for graphs of a compiled model, and ${name} is not such a file. ` +
      "Write such a file in Python with remat.export_graphs(..., budgets=(0.9, 0.7, 0.5, 0.3, 0.1)), or remove the option.",
  );
}

/**
 * Plans a compiled model for `remat plan`: selects one of the recorded activation budgets to compile the model with. It
 * is an error if no activation budget meets `--budget`.
 */
export async function planCompiled(
  source: ModelSource<"compiled">,
  options: OptionValues<typeof pricingOptions>,
  typedOptions: TypedOptions,
  asked: PlanOptions,
  { format, units }: Shown,
  io: ConsoleIo,
  progress: Progress,
): Promise<void> {
  refuseOthers(source.name, asked, typedOptions);
  const { device } = pricingOf(options);
  const beside = shownBeside(io, { "-o": asked.output });
  progress.show(`planning ${source.name}`, true);
  const model: CompiledModel = await importerOf(source).read(source.path);
  const { budget, paretoPoints } = asked;
  const isUsual = budget === undefined && asked.maxOverhead === undefined;
  const maxOverhead = isUsual ? usualOverhead : asked.maxOverhead;
  const answer = planTorchCompile(model, device, {
    budget,
    maxOverhead,
  });
  const { found, stock, least, budgetBytes } = answer;
  const tooDear = found === undefined ? quickestWithin(answer) : undefined;
  const notes = isUsual ? ["no budget was given: this is the lowest peak within 5% overhead"] : [];
  const summary = summaryOf(model, answer, { pricedFor: device.name, paretoPoints, notes });
  const document = compiledPlanDocument(summary, units);
  const command = found && activationBudgetLine(found.activationMemoryBudget);
  const facts = judgeGraph(
    {
      inOrderPeakBytes: stock.peakBytes,
      inOrder: "as compiled",
      cost: "time",
      budgetBytes,
      planned: found ?? tooDear ?? least,
    },
    { units, command },
  );
  progress.clear();
  if (found !== undefined && asked.output !== undefined) {
    const plan = { schema: planSchema, ...(document.value() as object) };
    await writeFor("-o", asked.output, `${JSON.stringify(plan, undefined, 2)}\n`, io);
  }
  beside.write(withFactsFirst(document, facts, format, io));
  if (found === undefined) throw notFound(answer, { name: model.name, maxOverhead, tooDear });
}

function refuseOthers(name: string, { executor }: PlanOptions, typedOptions: TypedOptions): void {
  const { executor: named } = typedOptions;
  if (named !== undefined && executor !== torchCompileExecutor)
    throw new UsageError(
      `--executor ${executor?.name} is for training steps, and ${name} contains graphs of a compiled model. Use --executor ${torchCompileExecutor.name}.`,
    );
  for (const option of optionsOfOthers) {
    const key = optionKey({ flags: `--${option}` });
    if (typedOptions[key] !== undefined && typedOptions[key] !== usual[key])
      throw new UsageError(
        `--${option} is not supported for ${name}: for a compiled model remat plans only activation_memory_budget. Remove it.`,
      );
  }
}

function summaryOf(
  { name }: CompiledModel,
  { found, stock, least, budgetBytes, points, tradeOffs }: TorchCompileAnswer,
  {
    pricedFor,
    paretoPoints,
    notes,
  }: { readonly pricedFor: string; readonly paretoPoints: number; readonly notes: readonly string[] },
): CompiledPlanSummary {
  const shown = new Map<CompiledBudget, CompiledPlanPoint>();
  const asPoint = (one: CompiledBudget): CompiledPlanPoint => {
    const { activationMemoryBudget, savedBytes, peakBytes, stepMs, overhead } = one;
    const point = shown.get(one) ?? { activationMemoryBudget, savedBytes, peakBytes, stepMs, overhead };
    shown.set(one, point);
    return point;
  };
  const isFront = paretoPoints > 0;
  const cheapest = (maxOverhead: number): CompiledPlanPoint =>
    asPoint(tradeOffs.findLast(({ overhead }) => overhead <= maxOverhead) ?? stock);
  return {
    ...{ name, pricedFor, budgetBytes, notes },
    staticBytes: stock.staticBytes,
    inputBytes: stock.inputBytes,
    planned: found && asPoint(found),
    stock: asPoint(stock),
    least: asPoint(least),
    points: (isFront ? spread(tradeOffs, paretoPoints) : points).map(asPoint),
    recommended: isFront ? new Map([0, usualOverhead, 0.2].map((most) => [most, cheapest(most)])) : undefined,
  };
}

/** Selects `count` points by falling peak, including the first and the last. */
function spread(points: readonly CompiledBudget[], count: number): readonly CompiledBudget[] {
  if (points.length <= count) return points;
  return Array.from({ length: count }, (_, i) => points[Math.round((i * (points.length - 1)) / (count - 1))]);
}

/** The point that would be selected if more time were allowed. */
function quickestWithin({ points, budgetBytes }: TorchCompileAnswer): CompiledBudget | undefined {
  if (budgetBytes === undefined) return undefined;
  return points.filter(({ peakBytes }) => peakBytes <= budgetBytes).toSorted((a, b) => a.stepMs - b.stepMs)[0];
}

function notFound(
  { budgetBytes, least, points, stock }: TorchCompileAnswer,
  {
    name,
    maxOverhead,
    tooDear,
  }: {
    readonly name: string;
    readonly maxOverhead: number | undefined;
    readonly tooDear: CompiledBudget | undefined;
  },
): RematError {
  const within = budgetBytes === undefined ? "" : ` within ${formatBytes(budgetBytes)}`;
  const dear = maxOverhead === undefined ? "" : ` for at most ${formatTypedPercent(maxOverhead)} more time`;
  const none = `${name}: none of the ${points.length} recorded values of activation_memory_budget keeps the step${within}${dear}`;
  if (tooDear !== undefined)
    return new RematError(
      "OVERHEAD",
      `${none}; the fastest that fits, ${tooDear.activationMemoryBudget}, ` +
        `takes ${formatOverhead(tooDear.overhead)} more time. Raise --budget or --max-overhead.`,
    );
  const { peakBytes, activationMemoryBudget } = least;
  const fixedBytes = stock.staticBytes + stock.inputBytes;
  return new InfeasibleBudgetError(
    peakBytes,
    `${none}; the smallest peak is ${formatTypedBytes(peakBytes)}, at ${activationMemoryBudget}, ` +
      `${formatBytes(fixedBytes)} of it weights, buffers and inputs. ` +
      "Raise the budget, or record more values with remat.export_graphs(..., budgets=...).",
  );
}
