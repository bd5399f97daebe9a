import { heldPeak } from "@remat/memory";
import {
  type CheckpointedPolicy,
  type ModulePolicy,
  type ModulePolicyMethod,
  type ModuleTreePlan,
  planModule,
  planModules,
  planningGraphOfTrace,
  planOfCheckpoints,
} from "@remat/planner";
import { formatBytes, formatMs, formatPercent, type PlanSection } from "@remat/reporting";
import { Category, EventKind, type Plan, Trace } from "@remat/trace";
import { quote, UsageError } from "../usage-error.js";
import { matchingModules, moduleStatistics, outermostModules } from "./module-statistics.js";
import type { Budget, PlanOptions } from "./plan-options.js";
import { bytesOfBudget } from "./plan-step.js";
import type { FoundPlan } from "./show-plan.js";

/** Tells which modules to checkpoint: level 2 of the planner, its peak beside the simulated one. */
export async function planByModules(trace: Trace, options: PlanOptions, budget: Budget): Promise<FoundPlan> {
  const began = performance.now();
  const { modules, sac, leftOut } = moduleStatistics(trace);
  const names = modules.map(({ fqn }) => fqn);
  const fsdpUnits = named("fsdp-units", options.fsdpUnits, names);
  const allowedUnits = options.modules.length === 0 ? undefined : named("module", options.modules, names);
  const { worldSize } = options;
  const treeOptions = { worldSize, fsdpUnits, ...(allowedUnits && { allowedUnits }) };
  // Of many devices each holds less than the recorded one: the peak without a plan is then what the model says.
  const referenceBytes =
    worldSize === 1
      ? heldPeak(trace).peakBytes
      : (await planModules(modules, { ...treeOptions, budgetBytes: 1e18 })).baselinePeakBytes;
  const budgetBytes = Math.floor(bytesOfBudget(budget, referenceBytes));
  const timeLimitS = options.timeMs === undefined ? undefined : Math.max(1, options.timeMs / 1000);
  const tree = await planModules(modules, {
    ...treeOptions,
    budgetBytes,
    ...(timeLimitS !== undefined && { timeLimitS }),
  });
  const policies = await Promise.all(
    tree.modules.map(async ({ fqn, freedShare }): Promise<CheckpointedPolicy> => {
      const policy = await planModule(sac.get(fqn)!, { budgetFraction: 1 - freedShare });
      return { fqn, recomputedOps: policy.recomputedOps };
    }),
  );
  const held = worldSize === 1 ? trace : shardedTrace(trace, worldSize);
  const plan = planOfCheckpoints(held, planningGraphOfTrace(held), policies, {
    budgetBytes,
    method: "modules",
    seconds: (performance.now() - began) / 1000,
  });
  return {
    plan,
    trace: held,
    checkpointed: tree.modules.map(({ fqn }) => fqn),
    sections: [boundSection(tree, plan), treeSection(tree)],
    notes: [
      ...(leftOut.length === 0 ? [] : [`left out, without a backward pass: ${leftOut.join(", ")}`]),
      ...(worldSize === 1
        ? []
        : [`parameters, their gradients and optimizer state count a ${worldSize}th; what FSDP gathers is not counted`]),
      ...(plan.predicted.plain.peakBytes <= budgetBytes && tree.modules.length > 0
        ? ["early release alone stays within the budget: --method schedule, which knows of it, recomputes nothing"]
        : []),
      ...(plan.predicted.peakBytes > budgetBytes
        ? ["simulated, the peak is above the budget: --method schedule plans with the true peak"]
        : []),
    ],
  };
}

/** Tells what to store of each module, each within a budget of its own: level 1 of the planner. */
export async function planEachModule(
  trace: Trace,
  options: PlanOptions,
  budget: Budget,
  method: ModulePolicyMethod,
): Promise<FoundPlan> {
  const began = performance.now();
  const { sac } = moduleStatistics(trace);
  const names =
    options.modules.length === 0 ? outermostModules(sac.keys()) : named("module", options.modules, [...sac.keys()]);
  const policies: (CheckpointedPolicy & { readonly policy: ModulePolicy })[] = [];
  for (const fqn of names) {
    const stats = sac.get(fqn)!;
    if (stats.ops.length === 0) continue;
    const policy = await planModule(stats, {
      ...("bytes" in budget ? { budgetBytes: budget.bytes } : { budgetFraction: budget.fraction }),
      method,
      ...(options.timeMs !== undefined && { timeLimitS: Math.max(1, options.timeMs / 1000) }),
    });
    policies.push({ fqn, recomputedOps: policy.recomputedOps, policy });
  }
  const plan = planOfCheckpoints(trace, planningGraphOfTrace(trace), policies, {
    budgetBytes: policies.reduce((sum, { policy }) => sum + policy.budgetBytes, 0),
    method,
    seconds: (performance.now() - began) / 1000,
  });
  return {
    plan,
    trace,
    checkpointed: policies.map(({ fqn }) => fqn),
    isByModule: true,
    sections: [policySection(policies)],
    notes: [],
  };
}

function named(option: string, patterns: readonly string[], names: readonly string[]): string[] {
  for (const pattern of patterns)
    if (matchingModules([pattern], names).length === 0)
      throw new UsageError(
        `--${option} names ${quote(pattern)}, which is no module with statistics. Expected one of ${names.slice(0, 8).join(", ")}${names.length > 8 ? `, … (${names.length} in all)` : ""}.`,
      );
  return [...new Set(matchingModules(patterns, names))];
}

function boundSection(
  { peakBytes, baselinePeakBytes, recomputationMs, lowerBoundMs, gap }: ModuleTreePlan,
  plan: Plan,
): PlanSection {
  const { predicted } = plan;
  const simulatedMs = predicted.cost - predicted.plain.cost;
  return {
    name: "bound",
    data: {
      modelPeakBytes: peakBytes,
      modelBaselinePeakBytes: baselinePeakBytes,
      modelRecomputationMs: recomputationMs,
      modelLowerBoundMs: lowerBoundMs,
      modelGap: gap,
      simulatedPeakBytes: predicted.peakBytes,
      simulatedBaselinePeakBytes: predicted.plain.peakBytes,
      simulatedRecomputationMs: simulatedMs,
    },
    title: "The model of modules beside the simulated step",
    headers: ["", "Peak without a plan", "Peak", "Recomputation", "Gap"],
    rows: [
      [
        "model's bound",
        formatBytes(baselinePeakBytes),
        formatBytes(peakBytes),
        formatMs(recomputationMs),
        formatPercent(gap),
      ],
      [
        "simulated",
        formatBytes(predicted.plain.peakBytes),
        formatBytes(predicted.peakBytes),
        formatMs(simulatedMs),
        "",
      ],
    ],
    remark:
      "Simulated: everything is freed after its last use, and a module's recomputation comes as its backward pass begins.",
  };
}

function treeSection({ modules }: ModuleTreePlan): PlanSection {
  return {
    name: "modules",
    data: modules,
    title: modules.length === 0 ? "No module has to be checkpointed" : "Checkpointed modules",
    headers: ["Module", "Activations freed", "Memory freed", "Recomputation"],
    rows: modules.map(({ fqn, freedShare, freedBytes, recomputationMs }) => [
      fqn,
      formatPercent(freedShare),
      formatBytes(freedBytes),
      formatMs(recomputationMs),
    ]),
  };
}

function policySection(policies: readonly { readonly fqn: string; readonly policy: ModulePolicy }[]): PlanSection {
  return {
    name: "policies",
    data: policies.map(({ fqn, policy }) => ({
      fqn,
      ...policy,
      isStored: undefined,
      storedOps: Array.from(policy.storedOps),
      recomputedOps: Array.from(policy.recomputedOps),
    })),
    title: "Policies by module",
    headers: ["Module", "Ops stored", "Recomputed", "Stored", "Of at most", "Recomputation", "Gap"],
    rows: policies.map(({ fqn, policy }) => [
      fqn,
      String(policy.storedOps.length),
      String(policy.recomputedOps.length),
      formatBytes(policy.storedBytes),
      formatBytes(policy.budgetBytes),
      formatMs(policy.recomputationMs),
      formatPercent(policy.gap),
    ]),
    remark:
      "The budget is of what storing all results of the module takes. The step is simulated with each module's recomputation as its backward pass begins.",
  };
}

/** The trace as one of `worldSize` devices holds it: what belongs to parameters is shared out. */
function shardedTrace(trace: Trace, worldSize: number): Trace {
  const { storages, events } = trace;
  const sharded = new Set<number>([Category.parameter, Category.gradient, Category.optimizerState]);
  const bytes = storages.bytes.slice();
  const isSharded = Uint8Array.from(storages.category.subarray(0, storages.count), (category) =>
    sharded.has(category) ? 1 : 0,
  );
  for (let e = 0; e < events.count; e++)
    if (events.kind[e] === EventKind.categorize && sharded.has(events.value[e])) isSharded[events.subject[e]] = 1;
  for (let storage = 0; storage < storages.count; storage++)
    if (isSharded[storage] === 1) bytes[storage] = Math.ceil(bytes[storage] / worldSize);
  return new Trace({ ...trace, storages: { ...storages, bytes } });
}
