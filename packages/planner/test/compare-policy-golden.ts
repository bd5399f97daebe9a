import type { SACStats } from "@remat/sac-core";
import type { Golden } from "@remat/testkit";
import { RematError } from "@remat/trace";
import { InfeasibleBudgetError } from "../src/infeasible-budget-error.js";
import { type ModulePolicy, planModule } from "../src/module-policy/plan-module.js";

/** `SACStats` as the goldens have them. */
export interface GoldenStats {
  readonly func_names: readonly string[];
  readonly runtimes: readonly number[];
  readonly memory: readonly number[];
  readonly view_like_ops: readonly number[];
  readonly rand_ops: readonly number[];
  readonly inplace_ops: readonly (readonly [op: number, parent: number])[];
  readonly force_store_random: boolean;
}

interface SolverAnswer {
  readonly result: readonly number[];
  readonly solver: { readonly status: string; readonly objective: number };
}

/** Upstream's policy for one budget: as it is, and with its solver run to the optimum. */
export interface PolicyRow {
  readonly budget: number;
  readonly upstream_expected?: readonly number[];
  readonly "gap_0.05": SolverAnswer;
  readonly gap_0: SolverAnswer;
}

/** Possible errors of upstream's solver, in each of its two settings, and its tolerances. */
const settings = [
  { name: "gap_0.05", gap: 0.05 },
  { name: "gap_0", gap: 0 },
] as const;
const tolerance = 1e-7;

/**
 * A `policy-oracle/1` file against `planModule`: never less time spared than upstream, within the budget; infeasible where upstream finds no
 * policy; and decision by decision what xformers publishes.
 */
export async function comparePolicyGolden(golden: Golden): Promise<string | undefined> {
  for (const [i, row] of (golden["xformers"] as readonly PolicyRow[]).entries()) {
    const difference = await policyDifference(golden["xformers_stats"] as GoldenStats, row);
    if (difference !== undefined) return `xformers case ${i}: ${difference}`;
  }
  for (const [i, row] of (golden["random"] as readonly (PolicyRow & { stats: GoldenStats })[]).entries()) {
    const difference = await policyDifference(row.stats, row);
    if (difference !== undefined) return `random case ${i}: ${difference}`;
  }
  return undefined;
}

export async function policyDifference(golden: GoldenStats, row: PolicyRow): Promise<string | undefined> {
  const stats = sacStatsOf(golden);
  const where = `budget ${row.budget}`;
  const total = golden.memory.reduce((sum, bytes) => sum + bytes, 0);
  const ours = new Map<string, ModulePolicy>();
  for (const method of ["dp", "milp", "greedy"] as const) {
    const policy = await planModule(stats, { budgetFraction: row.budget, method }).catch((error: unknown) => {
      if (error instanceof RematError) return error;
      throw error;
    });
    for (const { name } of settings) {
      const { status } = row[name].solver;
      if ((status === "Infeasible") !== policy instanceof InfeasibleBudgetError)
        return `${where}, ${name}: ${status}, our ${method} ${policy instanceof RematError ? policy.message : "finds a policy"}`;
    }
    if (policy instanceof RematError) {
      if (!(policy instanceof InfeasibleBudgetError)) return `${where}: our ${method}: ${policy.message}`;
      continue;
    }
    const broken = brokenConstraint(golden, policy.isStored, Math.ceil(row.budget * total));
    if (broken !== undefined) return `${where}, our ${method}: ${broken}`;
    if (method !== "greedy" && policy.gap > 1e-9) return `${where}, our ${method}: gap ${policy.gap}`;
    ours.set(method, policy);
  }
  for (const { name, gap } of settings) {
    const { result, solver } = row[name];
    if (ours.size === 0) {
      if (result.length > 0) return `${where}, ${name}: a policy of ${result.length} ops, ours none`;
      continue;
    }
    const broken = brokenConstraint(golden, result, Math.ceil(row.budget * total));
    if (broken !== undefined) return `${where}, ${name}: ${broken}`;
    const spared = sparedMs(golden, result);
    if (Math.abs(spared - solver.objective) > tolerance * spared)
      return `${where}, ${name}: objective ${solver.objective}, of its decisions ${spared}`;
    for (const method of ["dp", "milp"]) {
      const own = sparedMs(golden, ours.get(method)?.isStored ?? []);
      if (own < spared * (1 - 1e-11)) return `${where}, ${name}: spares ${spared} ms, our ${method} ${own}`;
      if (spared < own * (1 - gap - tolerance)) return `${where}, ${name}: spares ${spared} ms, our ${method} ${own}`;
    }
  }
  const expected = row.upstream_expected;
  for (const [method, { isStored }] of expected === undefined ? [] : ours)
    if (method !== "greedy" && expected?.join() !== isStored.join())
      return `${where}: expected ${expected?.join()}, our ${method} ${isStored.join()}`;
  return undefined;
}

function sparedMs({ runtimes }: GoldenStats, isStored: ArrayLike<number>): number {
  return runtimes.reduce((sum, ms, op) => sum + ms * isStored[op], 0);
}

/** The first constraint of upstream's that a policy breaks. */
export function brokenConstraint(
  golden: GoldenStats,
  isStored: ArrayLike<number>,
  budgetBytes: number,
): string | undefined {
  const { memory, rand_ops: random, inplace_ops: inPlace, view_like_ops: views, force_store_random: force } = golden;
  if (isStored.length !== memory.length) return `${isStored.length} decisions for ${memory.length} ops`;
  for (let op = 0; op < isStored.length; op++)
    if (isStored[op] !== 0 && isStored[op] !== 1) return `decision ${isStored[op]} for op ${op}`;
  const bytes = memory.reduce((sum, one, op) => sum + one * isStored[op], 0);
  if (bytes > budgetBytes) return `${bytes} bytes stored, budget ${budgetBytes}`;
  for (const op of random)
    if (isStored[op] !== (force ? 1 : isStored[random[0]])) return `random op ${op} apart from the others`;
  for (const op of views) if (isStored[op] !== 0) return `view ${op} stored`;
  for (const [op, parent] of inPlace)
    if (isStored[op] !== (op === parent ? 1 : isStored[parent]))
      return `in-place op ${op} apart from its parent ${parent}`;
  return undefined;
}

export function sacStatsOf(golden: GoldenStats): SACStats {
  return {
    ops: Int32Array.from(golden.memory.keys()),
    funcNames: golden.func_names,
    runtimesMs: Float64Array.from(golden.runtimes),
    memoryBytes: Float64Array.from(golden.memory),
    viewLikeOps: Int32Array.from(golden.view_like_ops),
    randOps: Int32Array.from(golden.rand_ops),
    savedAutogradOps: new Int32Array(0),
    inplaceOps: Int32Array.from(golden.inplace_ops, ([op]) => op),
    inplaceParents: Int32Array.from(golden.inplace_ops, ([, parent]) => parent),
    forceStoreRandom: golden.force_store_random,
  };
}
