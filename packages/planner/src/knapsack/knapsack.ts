import { RematError } from "@remat/trace";

/** The method for solving a knapsack. See {@link solveKnapsack}. */
export type KnapsackMethod = "dp" | "ilp" | "greedy";

/** The input of {@link solveKnapsack}: items to save within a budget. */
export interface Knapsack {
  /** For each item, the memory that saving it takes: bytes, or shares of a total as in the min-cut partitioner. */
  readonly memory: ArrayLike<number>;
  /** For each item, the recomputation time that saving it avoids. */
  readonly runtime: ArrayLike<number>;
  /** The memory budget, in the unit of `memory`. */
  readonly budget: number;
  /** The default is `"dp"`. */
  readonly method?: KnapsackMethod;
  /** Seconds after which `"ilp"` returns the best choice found. Default: 10. The other methods ignore it. */
  readonly timeLimitS?: number | undefined;
}

/** The result of {@link solveKnapsack}. */
export interface KnapsackSolution {
  readonly method: KnapsackMethod;
  /** Items to save, ascending. */
  readonly saved: readonly number[];
  /** All other items, ascending. */
  readonly recomputed: readonly number[];
  /** Total recomputation time that the saved items avoid. */
  readonly runtime: number;
  /** Total memory of the saved items. */
  readonly memory: number;
  /** An upper bound on `runtime` for any choice within the budget. */
  readonly bound: number;
  /** The optimality gap, `(bound - runtime) / bound`: 0 if the answer is proven optimal. */
  readonly gap: number;
}

const methods: readonly unknown[] = ["dp", "ilp", "greedy"];

/** Checks the input of {@link solveKnapsack}. @internal */
export function checkKnapsack({ memory, runtime, budget, method, timeLimitS }: Knapsack): void {
  if (memory.length === 0) throw inputError("there are no items. Pass at least one");
  if (memory.length !== runtime.length)
    throw inputError(`'memory' has ${memory.length} items and 'runtime' ${runtime.length}. Pass one of each per item`);
  for (let i = 0; i < memory.length; i++) {
    if (!isAmount(memory[i]))
      throw inputError(`item ${i}: 'memory' is ${shown(memory[i])}, expected a number of at least 0`);
    if (!isAmount(runtime[i]))
      throw inputError(`item ${i}: 'runtime' is ${shown(runtime[i])}, expected a number of at least 0`);
  }
  if (typeof budget !== "number" || Number.isNaN(budget) || budget < 0)
    throw inputError(`'budget' is ${shown(budget)}: expected a number of at least 0, in the unit of 'memory'`);
  if (method !== undefined && !methods.includes(method))
    throw inputError(`'method' is ${shown(method)}: expected "dp", "ilp" or "greedy"`);
  if (timeLimitS !== undefined && !(timeLimitS > 0))
    throw inputError(`'timeLimitS' is ${shown(timeLimitS)}: expected seconds above 0`);
}

function isAmount(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY;
}

function inputError(found: string): RematError {
  return new RematError("KNAPSACK_INPUT", `knapsack: ${found}.`);
}

function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
