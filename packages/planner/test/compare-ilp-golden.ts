import type { Golden } from "@remat/testkit";
import { RematError } from "@remat/trace";
import { InfeasibleBudgetError } from "../src/infeasible-budget-error.js";
import {
  aggregateModuleStats,
  isInside,
  type ModuleStats,
  type TrackedModule,
} from "../src/module-tree/module-stats.js";
import { type ModuleTreePlan, planModules } from "../src/module-tree/plan-modules.js";
import { type GoldenStats, type PolicyRow, policyDifference } from "./compare-policy-golden.js";

interface GoldenModule {
  readonly fqn: string;
  readonly param_per_module: number;
  readonly grad_per_module: number;
  readonly grad_total: number;
  readonly act_fw_per_module: number;
  readonly act_grad_per_module: number;
  readonly act_total: number;
  readonly fw_runtime_per_module: number;
  readonly bw_runtime_per_module: number;
  readonly is_leaf: boolean;
  readonly sac_runtime: number;
  readonly sac_memory: number;
  readonly slopes: readonly number[];
  readonly intercepts: readonly number[];
}

interface GoldenMemory {
  readonly fqn: string;
  readonly parameter_mem: number;
  readonly output_mem: number;
  readonly snapshots: Readonly<Record<string, readonly Readonly<Record<string, Readonly<Record<string, number>>>>[]>>;
}

type TreeAnswer =
  | { readonly error: string }
  | {
      readonly error?: never;
      readonly result: readonly [
        decisions: Readonly<Record<string, number>>,
        recomputationMs: number,
        peakBytes: number,
      ];
      readonly solver: { readonly status: string; readonly objective: number };
    };

interface TreeRow {
  readonly memory_budget: number;
  readonly world_size: number;
  readonly ac_units?: readonly string[];
  readonly fsdp_units?: readonly string[];
  readonly "gap_0.05": TreeAnswer;
  readonly gap_0: TreeAnswer;
}

const gibibyte = 2 ** 30;
/** Relative tolerance of upstream's solver; it reads coefficients with 12 digits and answers with 8. */
const solverShare = 1e-6;
/** Upstream rounds shares to 4 digits. */
const shareDigits = 0.5e-4;

const states = {
  "Pre-Forward": "preForward",
  "Post-Forward": "postForward",
  "Peak-Forward": "peakForward",
  "Pre-Backward": "preBackward",
  "Post-Backward": "postBackward",
  "Peak-Backward": "peakBackward",
} as const;
const categories = {
  Parameter: "parameter",
  Buffer: "buffer",
  Gradient: "gradient",
  Activation: "activation",
  Temp: "temporary",
  Optstate: "optimizerState",
  Other: "other",
} as const;

/**
 * An `ilp-oracle/1` file: module statistics from the tracker's snapshots, the module tree's plans and policies by operator. Ours recompute no
 * longer than upstream's, whichever its gap, keep to the budget and to every constraint, and are infeasible where upstream finds nothing.
 */
export async function compareIlpGolden(golden: Golden): Promise<string | undefined> {
  const stats = goldenModuleStats(golden);
  const aggregated = aggregateDifference(golden, stats) ?? graphDifference(golden, stats);
  if (aggregated !== undefined) return aggregated;
  for (const row of golden["sac_milp"] as readonly TreeRow[]) {
    const difference = await rowDifference(stats, row);
    if (difference !== undefined)
      return `budget ${row.memory_budget} GiB, world size ${row.world_size}, ${row.ac_units === undefined ? "all" : "allowed"} units, ${difference}`;
  }
  for (const [fqn, rows] of Object.entries(golden["policies"] as Record<string, readonly PolicyRow[]>))
    for (const row of rows) {
      const difference = await policyDifference((golden["sac_stats"] as Record<string, GoldenStats>)[fqn], row);
      if (difference !== undefined) return `policy of ${fqn}, ${difference}`;
    }
  return undefined;
}

function goldenModuleStats(golden: Golden): ModuleStats[] {
  const modules = golden["module_info"].mod_stats as readonly GoldenModule[];
  return aggregateModuleStats({
    memory: (golden["mem_stats"] as readonly GoldenMemory[]).map(trackedModule),
    tradeOffs: new Map(
      modules.flatMap(({ fqn, is_leaf, sac_memory: sacMemoryBytes, sac_runtime: sacRuntimeMs, slopes, intercepts }) =>
        is_leaf ? [] : [[fqn, { sacMemoryBytes, sacRuntimeMs, slopes, intercepts }] as const],
      ),
    ),
    forwardPostOrder: golden["module_info"].mod_order.fw_post_order as readonly string[],
    device: golden["config"].device as string,
  });
}

function trackedModule({
  fqn,
  parameter_mem: parameterBytes,
  output_mem: outputBytes,
  snapshots,
}: GoldenMemory): TrackedModule {
  return {
    fqn,
    parameterBytes,
    outputBytes,
    snapshots: new Map(
      Object.entries(snapshots).map(([state, calls]) => [
        states[state as keyof typeof states],
        calls.map((devices) =>
          Object.entries(devices).map(([device, { Total: totalBytes, ...bytes }]) => ({
            device,
            totalBytes,
            bytesByCategory: Object.fromEntries(
              Object.entries(bytes).map(([name, value]) => [categories[name as keyof typeof categories], value]),
            ),
          })),
        ),
      ]),
    ),
  };
}

/** Upstream's aggregates against ours, which come from the tracker's snapshots. */
function aggregateDifference(golden: Golden, stats: readonly ModuleStats[]): string | undefined {
  const own = new Map(stats.map((module) => [module.fqn, module]));
  const modules = golden["module_info"].mod_stats as readonly GoldenModule[];
  if (own.size !== modules.length) return `${modules.length} modules, ours ${own.size}`;
  for (const module of modules) {
    const ours = own.get(module.fqn);
    if (ours === undefined) return `module ${module.fqn} is not among ours`;
    const pairs = {
      param_per_module: ours.parameterBytes,
      grad_per_module: ours.parameterBytes,
      grad_total: ours.gradientTotalBytes,
      act_fw_per_module: ours.activationBytes,
      act_grad_per_module: ours.activationGradientBytes,
      act_total: ours.activationTotalBytes,
    };
    for (const [field, value] of Object.entries(pairs))
      if (module[field as keyof typeof pairs] !== value)
        return `module ${module.fqn}: ${field} ${module[field as keyof typeof pairs]}, ours ${value}`;
    const operators = (golden["sac_stats"] as Record<string, GoldenStats>)[module.fqn];
    if (operators === undefined) continue;
    const [memory, runtime] = [operators.memory, operators.runtimes].map((list) =>
      list.reduce((sum, one) => sum + one, 0),
    );
    if (memory !== module.sac_memory)
      return `module ${module.fqn}: sac_memory ${module.sac_memory}, of its ops ${memory}`;
    if (Math.abs(runtime - module.sac_runtime) > 1e-12 * runtime)
      return `module ${module.fqn}: sac_runtime ${module.sac_runtime}, of its ops ${runtime}`;
  }
  return undefined;
}

/** Upstream's tree and baseline against ours. */
function graphDifference(golden: Golden, stats: readonly ModuleStats[]): string | undefined {
  const nodes = golden["graph"].nodes as readonly { fqn: string; index: number; pos_fw_post_order: number }[];
  const place = new Map(stats.map(({ fqn }, i) => [fqn, i]));
  for (const node of nodes)
    if (node.pos_fw_post_order !== place.get(node.fqn))
      return `module ${node.fqn}: pos_fw_post_order ${node.pos_fw_post_order}, ours ${place.get(node.fqn)}`;
  const theirs = new Set(
    (golden["graph"].ad_matrix_ones as [number, number][]).map(([i, j]) => `${nodes[i].fqn} ${nodes[j].fqn}`),
  );
  for (const a of nodes)
    for (const b of nodes) {
      const ours = a === b || isInside(b.fqn, a.fqn);
      if (theirs.has(`${a.fqn} ${b.fqn}`) !== ours) return `${b.fqn} inside ${a.fqn}: ${!ours}, ours ${ours}`;
    }
  const root = (golden["module_info"].mod_stats as readonly GoldenModule[])[0];
  const { peak_mem: peak, compute_time: time } = golden["baseline"] as { peak_mem: number; compute_time: number };
  const baseline = Math.max(...memoryOf(stats, { memory_budget: 0, world_size: 1 }, new Map()));
  if (baseline !== peak) return `baseline peak ${peak}, ours ${baseline}`;
  const step = root.fw_runtime_per_module + root.bw_runtime_per_module;
  return Math.abs(step - time) <= 1e-12 * step ? undefined : `baseline time ${time}, of the root ${step}`;
}

async function rowDifference(stats: readonly ModuleStats[], row: TreeRow): Promise<string | undefined> {
  const budgetBytes = row.memory_budget * gibibyte;
  const options = {
    budgetBytes,
    worldSize: row.world_size,
    ...(row.ac_units !== undefined && { allowedUnits: row.ac_units }),
    ...(row.fsdp_units !== undefined && { fsdpUnits: row.fsdp_units }),
  };
  const plan = await planModules(stats, options).catch((error: unknown) => {
    if (error instanceof RematError) return error;
    throw error;
  });
  if (plan instanceof RematError && !(plan instanceof InfeasibleBudgetError)) return `ours: ${plan.message}`;
  if (!(plan instanceof RematError)) {
    const broken = brokenTreeConstraint(stats, row, plan);
    if (broken !== undefined) return `ours: ${broken}`;
  }
  for (const name of ["gap_0.05", "gap_0"] as const) {
    const answer = row[name];
    if (answer.error !== undefined) continue;
    const difference = answerDifference(stats, row, answer, plan);
    if (difference !== undefined) return `${name}: ${difference}`;
    if (plan instanceof RematError) continue;
    const [, , peak] = answer.result;
    if (answer.solver.objective < 0) return `${name}: objective ${answer.solver.objective}`;
    if (peak > budgetBytes + 1) return `${name}: peak ${peak}`;
    if (plan.recomputationMs > answer.solver.objective * (1 + solverShare) + solverShare)
      return `${name}: recomputes ${answer.solver.objective} ms, ours ${plan.recomputationMs}`;
  }
  return undefined;
}

/** Checks that upstream's answer is consistent, and as feasible as remat's. */
function answerDifference(
  stats: readonly ModuleStats[],
  row: TreeRow,
  { result: [decisions, rounded, peak], solver }: Exclude<TreeAnswer, { error: string }>,
  plan: ModuleTreePlan | RematError,
): string | undefined {
  if ((solver.status !== "Optimal") !== plan instanceof RematError)
    return `${solver.status}, ours ${plan instanceof RematError ? plan.message : "a plan"}`;
  const shares = new Map(Object.entries(decisions));
  if (plan instanceof RematError)
    return shares.size === 0 && rounded === 0 && peak === -1
      ? undefined
      : `a plan without a solution: ${JSON.stringify([decisions, rounded, peak])}`;
  if (Math.abs(rounded - solver.objective) > 0.005 + 1e-9)
    return `recomputes ${rounded} ms, objective ${solver.objective}`;
  const nested = nestedOrForbidden(stats, row, [...shares.keys()]);
  if (nested !== undefined) return nested;
  let [time, timeRoom, memoryRoom] = [0, 0.01 * solverShare, 1];
  for (const [fqn, share] of shares) {
    const tradeOff = stats.find((module) => module.fqn === fqn)?.tradeOff;
    if (tradeOff === undefined || !(share > 0 && share <= 1)) return `${fqn} frees ${share}`;
    time += recomputationOf(tradeOff, share);
    timeRoom += shareDigits * tradeOff.sacRuntimeMs * Math.max(...tradeOff.slopes.map(Math.abs)) + solverShare;
    memoryRoom += shareDigits * tradeOff.sacMemoryBytes;
  }
  if (Math.abs(time - solver.objective) > timeRoom) return `objective ${solver.objective}, of its decisions ${time}`;
  const highest = Math.max(...memoryOf(stats, row, shares));
  return highest > peak + memoryRoom ? `peak ${peak}, of its decisions ${highest}` : undefined;
}

/** The first of upstream's constraints that a plan breaks. */
export function brokenTreeConstraint(
  stats: readonly ModuleStats[],
  row: Pick<TreeRow, "memory_budget" | "world_size" | "ac_units" | "fsdp_units">,
  plan: ModuleTreePlan,
): string | undefined {
  const shares = new Map(plan.modules.map((module) => [module.fqn, module.freedShare]));
  const nested = nestedOrForbidden(stats, row, [...shares.keys()]);
  if (nested !== undefined) return nested;
  const peak = Math.max(...memoryOf(stats, row, shares));
  if (peak > row.memory_budget * gibibyte + 1e-3) return `peak ${peak} over the budget`;
  if (Math.abs(peak - plan.peakBytes) > 1e-3) return `peak ${plan.peakBytes}, of its decisions ${peak}`;
  let time = 0;
  for (const [fqn, share] of shares) {
    const module = stats.find((one) => one.fqn === fqn);
    if (module?.tradeOff === undefined) return `${fqn} has no children`;
    time += recomputationOf(module.tradeOff, share);
    const [all, held] = [Math.max(module.tradeOff.sacMemoryBytes, module.activationBytes), module.activationBytes];
    if (!(share <= 1 && all * share >= (all - held) * (1 - 1e-12))) return `${fqn} frees ${share}`;
  }
  return Math.abs(time - plan.recomputationMs) > 1e-9 * time
    ? `recomputes ${plan.recomputationMs} ms, of its decisions ${time}`
    : undefined;
}

function nestedOrForbidden(
  stats: readonly ModuleStats[],
  { ac_units: allowed, fsdp_units: fsdp }: Pick<TreeRow, "ac_units" | "fsdp_units">,
  chosen: readonly string[],
): string | undefined {
  for (const fqn of chosen) {
    if (stats.find((module) => module.fqn === fqn)?.tradeOff === undefined) return `${fqn} has no children`;
    if (allowed !== undefined && !allowed.includes(fqn)) return `${fqn} is not allowed`;
    const around = fsdp?.find((unit) => isInside(unit, fqn));
    if (around !== undefined) return `${fqn} is around FSDP unit ${around}`;
    const inner = chosen.find((other) => isInside(other, fqn));
    if (inner !== undefined) return `${inner} is inside ${fqn}`;
  }
  return undefined;
}

function recomputationOf(
  { sacRuntimeMs, slopes, intercepts }: NonNullable<ModuleStats["tradeOff"]>,
  share: number,
): number {
  return sacRuntimeMs * Math.max(0, ...slopes.map((slope, s) => slope * share + intercepts[s]));
}

/** Memory at each module by upstream's formula, written out term by term. */
function memoryOf(
  stats: readonly ModuleStats[],
  { world_size: worldSize }: Pick<TreeRow, "memory_budget" | "world_size">,
  shares: ReadonlyMap<string, number>,
): number[] {
  const root = stats.find((module) => !stats.some((other) => isInside(module.fqn, other.fqn)));
  return stats.map((module, place) => {
    let freed = 0;
    for (const before of stats.slice(0, place)) {
      const share = shares.get(before.fqn);
      if (share === undefined || before.tradeOff === undefined) continue;
      const all = Math.max(before.tradeOff.sacMemoryBytes, before.activationBytes);
      freed += all * share - (all - before.activationBytes);
    }
    const sharded = ((root?.parameterBytes ?? 0) + module.gradientTotalBytes) / worldSize;
    return module.activationTotalBytes + module.activationGradientBytes - freed + sharded;
  });
}
