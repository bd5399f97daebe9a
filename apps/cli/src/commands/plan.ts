import { bytesOfBudget, heldPeak } from "@remat/memory";
import { requireMemoryTrace } from "@remat/memory/tracker";
import { nothingWithin } from "@remat/planner";
import { type InfeasibleBudget, infeasibleDocument } from "@remat/reporting/documents";
import { type GivenStep, type Outcome } from "@remat/reporting/verdict";
import { countReplayedOps, type Plan, type Trace, writePlan } from "@remat/trace";
import { type TerminalText } from "@remat/trace/emit";
import { isStandardOutput } from "@remat/trace/files";
import { formatBudget } from "@remat/trace/text";
import { type StepRequest, stepToPlan } from "@remat/tracer/step";
import { type Command, defineCommand, grouped, type Invocation, type OptionValues } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { rowsToList } from "../format-option.js";
import {
  type ModelOptions,
  modelOptionsOf,
  predictOption,
  printOptions,
  recordOptions,
  stepOptions,
} from "../model-options.js";
import { isOf, modelSource } from "../model-source.js";
import { planFileOf } from "../numbered-path.js";
import { shownBeside, writeFor } from "../output.js";
import { findPlan } from "../plan/find-plan.js";
import { planCompiled, refuseCompiledExecutor } from "../plan/plan-compiled.js";
import { planForRanks, ranksAsked } from "../plan/plan-for-ranks.js";
import { isForTorch, planForTorch } from "../plan/plan-for-torch.js";
import { planGraph } from "../plan/plan-graph.js";
import { type PlanOptions, planOptionsOf } from "../plan/plan-options.js";
import { planSearchOptions } from "../plan/plan-search-options.js";
import { nothingToRecompute, tooDear, tooMuch } from "../plan/refuse.js";
import { type FoundPlan, type Shown, showPlan } from "../plan/show-plan.js";
import { writePolicyFile } from "../plan/write-policy-file.js";
import { type PricedModel, priceModel } from "../price-model.js";
import { type Pricing, pricingOf, pricingOptions } from "../pricing-options.js";
import { Progress } from "../progress.js";
import { typedTarget } from "../standard-input.js";
import { expectSteps } from "../trace-once.js";
import { describeBudget } from "../typed-quantities.js";
import { predictedUpdateOption } from "../update-in-backward-option.js";
import { UsageError } from "../usage-error.js";
import { commandOfSubject } from "../verdict/follow-plan.js";
import { giveVerdict } from "../verdict/give-verdict.js";
import { type Given, typed } from "../verdict/next-command.js";
import { predictEarlyRelease } from "../verdict/predict-early-release.js";
import { withVerdictFirst } from "../verdict/show-verdict.js";
import { writeTraceFile } from "../write-trace-file.js";

const options = [
  ...planSearchOptions,
  ...stepOptions,
  ...recordOptions,
  ...grouped("rare", [predictOption]),
  predictedUpdateOption,
  ...pricingOptions,
  ...printOptions,
];

type PlanCommandOptions = OptionValues<typeof options>;

export const planCommand: Command = defineCommand({
  options,
  examples: [
    "remat plan model.json --batch 8 --budget 60%",
    "remat plan ./my-model.js --optimizer adam --max-overhead 5% -o plan.json",
    "remat plan run.json --fsdp world=8,bf16 --budget 40GB --device h100",
  ],
  takes: ["model", "run", "graph", "compiled"],
  run: plan,
});

/** Plans what to keep and what to recompute within a budget (`remat plan MODEL|TRACE|GRAPH`). */
async function plan({
  targets: [target],
  options: values,
  typedOptions,
  io,
}: Invocation<typeof options>): Promise<void> {
  const asked = planOptionsOf(values, typedOptions);
  const { format, depth, top, units } = values;
  const shown: Shown = { format, depth, limit: rowsToList(top, format), units };
  const progress = new Progress(io);
  try {
    const began = performance.now();
    const source = modelSource(target);
    const words = { target, typedOptions };
    if (isOf(source, "compiled")) return await planCompiled(source, values, typedOptions, asked, shown, io, progress);
    refuseCompiledExecutor(asked, source.name);
    if (isOf(source, "graph")) return await planGraph({ ...words, source }, asked, shown, { began, io, progress });
    await planModel({ ...words, source }, values, asked, shown, io, progress);
  } finally {
    progress.clear();
  }
}

async function planModel(
  { target, source, typedOptions }: Pick<Given, "target" | "source" | "typedOptions">,
  options: PlanCommandOptions,
  asked: PlanOptions,
  shown: Shown,
  io: ConsoleIo,
  progress: Progress,
): Promise<void> {
  if (asked.order === "free")
    throw new UsageError(
      "--order free is for graph files only: your code and autograd fix the op order of a training step. Remove it.",
    );
  const { trace: tracePath } = options;
  const beside = shownBeside(io, {
    "-o": asked.output,
    "--pytorch-policy": asked.pyTorchPolicy,
    "--trace": tracePath,
    "--fsdp-code": options.fsdpCode,
  });
  if (options.predict) throw nothingToRecompute(source.name, typedTarget(target));
  const pricing = pricingOf(options);
  const ranks = ranksAsked(options, asked, pricing);
  const { units, updateInBackward } = options;
  const given: Given = { target, source, typedOptions, step: modelOptionsOf(options), units, updateInBackward };
  const { trace, stock, pricedFor, handCheckpointed } = await traceToPlan(given, pricing, progress, {
    isForRanks: ranks !== undefined || asked.worldSize > 1,
  });
  const name = trace.header.model ?? source.name;
  if (trace.header.step?.predict === true) throw nothingToRecompute(name, "MODEL");
  requireMemoryTrace(trace);
  if (asked.pyTorchPolicy !== undefined && trace.header.framework !== "pytorch")
    throw new UsageError(
      `--pytorch-policy is for PyTorch runs; ${name} is a run of ${trace.header.framework}. Remove it.`,
    );
  if (tracePath !== undefined) await writeTraceFile(trace, tracePath, io);

  if (ranks !== undefined) {
    const write = (text: TerminalText) => void beside.write(text);
    return planForRanks(trace, name, { ranks, pricing, asked, shown, io, progress, write });
  }
  if (isForTorch(trace, asked, name)) {
    const beforeTorch = { given, pricing, pricedFor, asked, shown, io, progress };
    return planForTorch(trace, name, { ...beforeTorch, write: (text) => void beside.write(text) });
  }
  progress.show(`planning ${name}`, true);
  const found = besideStock(await findPlan(trace, budgetOfStock(asked, stock), name, io, progress), stock);
  // Early release is predicted for the step that was planned, with the same checkpointing.
  const { request, ...files } = given.step;
  const { checkpointing = "free" } = request;
  const step = { request: { ...request, checkpointing }, ...files };
  const predictReleased = () => predictEarlyRelease(trace, { source, options: step, updateInBackward }, progress);
  if ("infeasible" in found) {
    const outcome = smallestFound(found.infeasible);
    const earlyReleasePeakBytes = (await predictReleased())?.peakBytes;
    const verdict = await giveVerdict(
      stock,
      { ...given, pricing, outcome, handCheckpointed, earlyReleasePeakBytes, planned: trace },
      progress,
    );
    progress.clear();
    beside.write(withVerdictFirst(infeasibleDocument(found.infeasible, shown), verdict, shown.format, io));
    throw nothingWithin(found.infeasible);
  }
  const { origin, predicted } = found.plan;
  const { peakBytes, overhead } = predicted;
  const isOfStock = stock === trace;
  const planned = { name: "planned", peakBytes, overhead };
  const command = afterPlan(given, found.plan, asked);
  // The step of a rank is simulated, so it has no early release.
  const earlyRelease = asked.worldSize > 1 ? undefined : await predictReleased();
  const earlyReleasePeakBytes = earlyRelease?.peakBytes;
  const judged = {
    ...{ ...given, pricing, outcome: planned, command, handCheckpointed, earlyReleasePeakBytes },
    planned: isOfStock ? found.trace : trace,
  };
  const verdict = await giveVerdict(isOfStock ? found.trace : stock, judged, progress);
  progress.clear();
  const text = await showPlan(found, shown, {
    ...{ pricedFor, earlyRelease, verdict, io },
    stock: isOfStock ? undefined : stock,
  });
  const costs = { budgetBytes: origin.budgetBytes, overhead };
  const refusal = tooMuch(name, asked, found.plan) ?? tooDear(name, asked, costs);
  if (refusal !== undefined) {
    beside.write(text());
    throw refusal;
  }
  if (asked.output !== undefined) await writeFor("-o", asked.output, writePlan(found.plan), io);
  const sections = asked.pyTorchPolicy === undefined ? [] : [await writePolicyFile(found, asked.pyTorchPolicy, io)];
  beside.write(text(...sections));
}

interface TraceToPlan extends PricedModel {
  /** The step as tfjs runs it, without manual checkpointing. */
  readonly stock: Trace;
  /** The step with its manual checkpointing, if the model has any. */
  readonly handCheckpointed?: GivenStep | undefined;
}

/** Traces the step to plan and the baseline. For a recorded run they are the same. */
async function traceToPlan(
  { source, step: asked, updateInBackward = false }: Given,
  pricing: Pricing,
  progress: Progress,
  { isForRanks }: { readonly isForRanks: boolean },
): Promise<TraceToPlan> {
  const { request, ...files } = asked;
  // The seed affects only the search.
  if (isOf(source, "run")) {
    const recorded = await priceModel(
      source,
      { request: { ...request, seed: undefined }, ...files },
      pricing,
      progress,
    );
    return { ...recorded, stock: recorded.trace };
  }
  const step = (more: StepRequest): Promise<PricedModel> =>
    priceModel(source, { request: { ...request, ...more }, ...files }, pricing, progress);
  const { checkpointing = stepToPlan.checkpointing } = request;
  const optionsOf = (more: StepRequest): ModelOptions => ({ request: { ...request, ...more }, ...files });
  expectSteps(source, [
    { options: optionsOf({}) },
    { options: optionsOf({ ...stepToPlan, checkpointing }) },
    ...(isForRanks ? [] : [{ options: optionsOf({ checkpointing }), released: { updateInBackward } }]),
  ]);
  const asItRuns = await step({});
  const recomputedOps = countReplayedOps(asItRuns.trace);
  const isByHand = request.checkpointing === undefined && recomputedOps > 0;
  return {
    ...(await step({ ...stepToPlan, checkpointing })),
    stock: isByHand ? (await step({ checkpointing })).trace : asItRuns.trace,
    handCheckpointed: isByHand ? { peakBytes: heldPeak(asItRuns.trace).peakBytes, recomputedOps } : undefined,
  };
}

/**
 * Converts a fraction of the step's peak to bytes, as a fraction of the baseline's peak. Methods with a budget for each
 * module interpret fractions themselves.
 */
function budgetOfStock(asked: PlanOptions, stock: Trace): PlanOptions {
  const { budget, method } = asked;
  if (budget === undefined || method.budgetOf !== "step") return asked;
  return { ...asked, budget: { bytes: bytesOfBudget(budget, heldPeak(stock).peakBytes) } };
}

/** Compares a plan with the user's own step, whatever gradients the plan uses. */
function besideStock<Found extends FoundPlan | { readonly infeasible: InfeasibleBudget }>(
  found: Found,
  stock: Trace,
): Found {
  if (!("plan" in found) || found.isByModule === true) return found;
  const { plan } = found;
  const recordedPeakBytes = heldPeak(stock).peakBytes;
  return { ...found, plan: { ...plan, predicted: { ...plan.predicted, recordedPeakBytes } } };
}

/** The plan with the lowest peak that was found, although it exceeds the budget. */
function smallestFound({ smallestFoundBytes }: InfeasibleBudget): Outcome {
  return { name: "smallest found", peakBytes: smallestFoundBytes };
}

/**
 * Returns the command to apply a plan: it trains a model, runs a program with the plan, or writes the policy for a
 * PyTorch run.
 */
function afterPlan(given: Given, plan: Plan, { output, pyTorchPolicy, budget }: PlanOptions): string | undefined {
  const path = output === undefined || isStandardOutput(output) ? undefined : output;
  const within = ["--budget", budget === undefined ? formatBudget(plan.predicted.peakBytes) : describeBudget(budget)];
  if (isOf(given.source, "model"))
    return path === undefined ? typed("run", given, ...within) : typed("run", given, "--plan", path);
  if (plan.subject.framework === "pytorch")
    return pyTorchPolicy === undefined ? typed("plan", given, ...within, "--pytorch-policy", "policy.json") : undefined;
  return path === undefined
    ? typed("plan", given, ...within, "-o", planFileOf(given.target))
    : commandOfSubject(plan.subject, path)?.command;
}
