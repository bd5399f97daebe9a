import { RematError } from "@remat/trace";

/** How a knapsack is solved; see {@link solveKnapsack}. */
export type KnapsackMethod = "dp" | "ilp" | "greedy";

export interface Knapsack {
  /** By item, what saving it takes of the budget: bytes, or shares of some total as the min-cut partitioner has them. */
  readonly memory: ArrayLike<number>;
  /** By item, what saving it spares: the time of its recomputation. */
  readonly runtime: ArrayLike<number>;
  /** In the unit of `memory`. */
  readonly budget: number;
  /** Left out: `"dp"`. */
  readonly method?: KnapsackMethod;
  /** Seconds after which `"ilp"` gives the best that it has. Left out: 10. The other methods take no notice. */
  readonly timeLimitS?: number | undefined;
}

export interface KnapsackSolution {
  readonly method: KnapsackMethod;
  /** Items to save, ascending. */
  readonly saved: readonly number[];
  /** All other items, ascending. */
  readonly recomputed: readonly number[];
  /** What the saved items spare together. */
  readonly runtime: number;
  /** What they take of the budget. */
  readonly memory: number;
  /** No choice within the budget spares more. */
  readonly bound: number;
  /** `(bound - runtime) / bound`: 0 where the answer is proven optimal. */
  readonly gap: number;
}

const methods: readonly unknown[] = ["dp", "ilp", "greedy"];

/** @internal */
export function checkKnapsack({ memory, runtime, budget, method, timeLimitS }: Knapsack): void {
  if (memory.length === 0)
    throw inputError("found no items: expected at least one. Leave the knapsack out where nothing can be saved");
  if (memory.length !== runtime.length)
    throw inputError(
      `found ${memory.length} sizes in 'memory' and ${runtime.length} in 'runtime': expected one of each per item`,
    );
  for (let i = 0; i < memory.length; i++) {
    if (!isAmount(memory[i]))
      throw inputError(`item ${i}: 'memory' is ${shown(memory[i])}, expected a number from 0 up`);
    if (!isAmount(runtime[i]))
      throw inputError(`item ${i}: 'runtime' is ${shown(runtime[i])}, expected a number from 0 up`);
  }
  if (typeof budget !== "number" || Number.isNaN(budget) || budget < 0)
    throw inputError(`'budget' is ${shown(budget)}: expected a number from 0 up, in the unit of 'memory'`);
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
