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
import type { Command, CommandOptions } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { parseFormat, parseUnits, rowsToList } from "../format-option.js";
import { parseModelOptions, predictOption, printOptions, recordOptions, stepOptions } from "../model-options.js";
import { isOf, modelSource } from "../model-source.js";
import { planFileOf } from "../numbered-path.js";
import { shownBeside, writeFor } from "../output.js";
import { findPlan } from "../plan/find-plan.js";
import { planCompiled, refuseCompiledExecutor } from "../plan/plan-compiled.js";
import { parseRanksAsked, planForRanks } from "../plan/plan-for-ranks.js";
import { isForTorch, planForTorch } from "../plan/plan-for-torch.js";
import { planGraph } from "../plan/plan-graph.js";
import {
  describeBudget,
  executorOption,
  methodOption,
  type PlanOptions,
  parsePlanOptions,
  planOrders,
} from "../plan/plan-options.js";
import { nothingToRecompute, tooDear, tooMuch } from "../plan/refuse.js";
import { type FoundPlan, type Shown, showPlan } from "../plan/show-plan.js";
import { writePolicyFile } from "../plan/write-policy-file.js";
import { type PricedModel, priceModel } from "../price-model.js";
import { type Pricing, parsePricing, pricingOptions } from "../pricing-options.js";
import { Progress } from "../progress.js";
import { typedTarget } from "../standard-input.js";
import { predictedUpdateOption } from "../update-in-backward-option.js";
import { parseCount, parseText, UsageError } from "../usage-error.js";
import { commandOfSubject } from "../verdict/follow-plan.js";
import { giveVerdict } from "../verdict/give-verdict.js";
import { type Given, typed } from "../verdict/next-command.js";
import { predictEarlyRelease } from "../verdict/predict-early-release.js";
import { withVerdictFirst } from "../verdict/show-verdict.js";
import { writeTraceFile } from "../write-trace-file.js";

/** `remat plan`. */
export const planCommand: Command = {
  options: [
    ...stepOptions,
    ...recordOptions,
    predictOption,
    predictedUpdateOption,
    ...pricingOptions,
    ...printOptions,
    {
      flags: "--budget <size>",
      access: "data",
      purpose: "What may be held at once: 0.9 or 60% of what is held without a plan, or 2GB, 512MiB",
    },
    {
      flags: "--module-budget <size>",
      access: "data",
      purpose: "For --method dp, milp and greedy instead: what each module may store, of what all its results take",
    },
    {
      flags: "--max-overhead <share>",
      access: "data",
      purpose: "How much longer a step may take: 20%. Without --budget: the smallest peak for that",
    },
    {
      flags: "--time <time>",
      access: "data",
      purpose:
        "How long to look: 5s, 500ms, 2min (default: 5s, or as long as --iterations take); of a graph to read and write it, too",
    },
    {
      flags: "--iterations <n>",
      access: "data",
      purpose: "How many changes to try: the same number and seed give the same plan",
    },
    { flags: "--workers <n>", access: "data", purpose: "Threads that search (default: one a core, 8 at most)" },
    {
      flags: "--order <order>",
      access: "data",
      choices: planOrders,
      purpose: "fixed, or free: of graph files, in which order nodes first run",
      default: "fixed",
    },
    executorOption,
    {
      flags: "--whole-modules",
      access: "data",
      purpose:
        "Of PyTorch: checkpoint modules as a whole, no parts of them, as models need that will be sharded or compiled",
    },
    methodOption,
    {
      flags: "--link <rate>",
      access: "data",
      purpose:
        "May offload to host memory, over a link of that rate each way: 12GB/s, or device for what --device has (of graph files, whose costs then are milliseconds)",
    },
    {
      flags: "--pareto <n>",
      access: "data",
      purpose: "Also plan for this many budgets, down to the smallest, and recommend three",
    },
    {
      flags: "--module <fqn>",
      access: "data",
      purpose: "For methods that plan modules: only these (names or patterns, parted by commas)",
    },
    {
      flags: "--checkpoint <modules>",
      access: "name or file",
      purpose:
        "Of a TensorFlow.js model, in place of a search: what is checkpointed: layers.*, block_1(save=BatchMatMul), or RematScope(…) as Keras spells it",
    },
    {
      flags: "--world-size <n>",
      access: "data",
      purpose: "For --method modules: devices that weights are sharded over",
      default: 1,
    },
    { flags: "--fsdp-units <names>", access: "data", purpose: "For --method modules: modules that are sharded as one" },
    {
      flags: "--fsdp <plan>",
      access: "name or file",
      purpose:
        "What one rank of many may hold: world=8,bf16. What the plan leaves open is planned: how modules are wrapped, resharded and checkpointed, together",
    },
    {
      flags: "--fsdp-code <file>",
      access: "output",
      purpose: "Also write what was planned for ranks as Python: calls of fully_shard",
      writes: "text",
    },
    {
      flags: "--network <speeds>",
      access: "data",
      purpose: "How ranks are joined, as remat compare takes it (default: the device's)",
    },
    { flags: "--depth <n>", access: "data", purpose: "Show modules by this many name components", default: 2 },
    {
      flags: "--top <n>",
      access: "data",
      purpose: "How many of the recomputed storages or nodes to list (default: 10; as csv all)",
    },
    {
      flags: "-o, --output <file>",
      access: "output",
      purpose: "Write the plan there, for an executor",
      writes: "text",
    },
    {
      flags: "--pytorch-policy <file>",
      access: "output",
      purpose: "Of a PyTorch run: also write what to checkpoint, for remat.apply (Python)",
      writes: "text",
    },
  ],
  examples: [
    "remat plan model.json --batch 8 --budget 60%",
    "remat plan ./my-model.js --optimizer adam --max-overhead 5% -o plan.json",
    "remat plan run.json --fsdp world=8,bf16 --budget 40GB --device h100",
    "remat plan graph.json --budget 0.8 --order free --format json",
    "remat plan graphs.json.gz --budget 70%",
  ],
  takes: ["model", "run", "graph", "compiled"],
  run: ([model], options, io) => plan(model, options, io),
};

/** Plans (`remat plan MODEL|TRACE|GRAPH`) what to keep and what to recompute within a budget. */
export async function plan(model: string, options: CommandOptions, io: ConsoleIo): Promise<void> {
  const asked = parsePlanOptions(options);
  const format = parseFormat(options);
  const shown: Shown = {
    format,
    depth: parseCount("depth", options["depth"]),
    limit: rowsToList(options, format),
    units: parseUnits(options),
  };
  const progress = new Progress(io);
  try {
    const began = performance.now();
    const source = modelSource(model);
    const given = { target: model, source, options };
    if (isOf(source, "compiled")) return await planCompiled(given, asked, shown, io, progress);
    refuseCompiledExecutor(asked, source.name);
    if (isOf(source, "graph")) await planGraph(given, asked, shown, { began, io, progress });
    else await planModel(given, asked, shown, io, progress);
  } finally {
    progress.clear();
  }
}

async function planModel(
  given: Given,
  asked: PlanOptions,
  shown: Shown,
  io: ConsoleIo,
  progress: Progress,
): Promise<void> {
  const { source, options } = given;
  if (asked.order === "free")
    throw new UsageError(
      "--order free is for graph files: of a training step, user code and autograd fix the order in which ops first run.",
    );
  const tracePath = options["trace"] === undefined ? undefined : parseText("trace", options["trace"]);
  const beside = shownBeside(io, {
    "-o": asked.output,
    "--pytorch-policy": asked.pyTorchPolicy,
    "--trace": tracePath,
    ...(options["fsdpCode"] !== undefined && { "--fsdp-code": parseText("fsdp-code", options["fsdpCode"]) }),
  });
  if (options["predict"] === true) throw nothingToRecompute(source.name, typedTarget(given.target));
  const pricing = parsePricing(options);
  const ranks = parseRanksAsked(options, asked, pricing);
  const { trace, stock, pricedFor, handCheckpointed } = await traceToPlan(given, pricing, progress);
  const name = trace.header.model ?? source.name;
  if (trace.header.step?.predict === true) throw nothingToRecompute(name, "MODEL");
  requireMemoryTrace(trace);
  if (asked.pyTorchPolicy !== undefined && trace.header.framework !== "pytorch")
    throw new UsageError(
      `--pytorch-policy is for runs of PyTorch; ${name} is of ${trace.header.framework}. Leave it out.`,
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
  // What is planned is held against the same step.
  const predictReleased = () =>
    predictEarlyRelease(trace, { source, options: { checkpointing: "free", ...options } }, progress);
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
  // Nobody takes the step of one rank of many.
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
  /** The step as tfjs takes it by itself, without blocks that are checkpointed by hand. */
  readonly stock: Trace;
  /** What the step holds as it runs, where the model checkpoints blocks by hand. */
  readonly handCheckpointed?: GivenStep;
}

/** Traces the step that is to be planned, and stock's. A recorded one is both. */
async function traceToPlan({ source, options }: Given, pricing: Pricing, progress: Progress): Promise<TraceToPlan> {
  const { request, ...files } = parseModelOptions(options);
  // The seed is the search's alone.
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
  const asItRuns = await step({});
  const recomputedOps = countReplayedOps(asItRuns.trace);
  const { checkpointing = stepToPlan.checkpointing } = request;
  const isByHand = request.checkpointing === undefined && recomputedOps > 0;
  return {
    ...(await step({ ...stepToPlan, checkpointing })),
    stock: isByHand ? (await step({ checkpointing })).trace : asItRuns.trace,
    ...(isByHand && { handCheckpointed: { peakBytes: heldPeak(asItRuns.trace).peakBytes, recomputedOps } }),
  };
}

/** A part of what the step holds is one of what stock's does; of modules, methods know themselves. */
function budgetOfStock(asked: PlanOptions, stock: Trace): PlanOptions {
  const { budget, method } = asked;
  if (budget === undefined || method.budgetOf !== "step") return asked;
  return { ...asked, budget: { bytes: bytesOfBudget(budget, heldPeak(stock).peakBytes) } };
}

/** A plan is held against the step that its user takes, whatever gradients it has itself. */
function besideStock<Found extends FoundPlan | { readonly infeasible: InfeasibleBudget }>(
  found: Found,
  stock: Trace,
): Found {
  if (!("plan" in found) || found.isByModule === true) return found;
  const { plan } = found;
  const recordedPeakBytes = heldPeak(stock).peakBytes;
  return { ...found, plan: { ...plan, predicted: { ...plan.predicted, recordedPeakBytes } } };
}

/** What was found that holds least, though it is too much for the budget. */
function smallestFound({ smallestFoundBytes }: InfeasibleBudget): Outcome {
  return { name: "smallest found", peakBytes: smallestFoundBytes };
}

/** A plan is there to be followed: of a model by training, of a program by its plan, of a run of PyTorch by its policy. */
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
