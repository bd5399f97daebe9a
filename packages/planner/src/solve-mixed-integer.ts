import { RematError } from "@remat/trace";
import type { Highs } from "highs";
import { forgetHighs, loadHighs } from "./load-highs.js";

/**
 * Minimize `cost · x` over `0 <= x <= upper` with `atLeast <= values · x[columns] <= atMost` in every row. @internal
 */
export interface MixedIntegerProblem {
  readonly cost: ArrayLike<number>;
  readonly upper: ArrayLike<number>;
  /** For each column, 1 if it must be a whole number. */
  readonly isWhole: ArrayLike<number>;
  readonly rows: readonly MixedIntegerRow[];
}

/** A constraint. @internal */
export interface MixedIntegerRow {
  readonly columns: readonly number[];
  readonly values: readonly number[];
  /** By default there is no limit. */
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** The solution of a {@link MixedIntegerProblem}. @internal */
export interface MixedIntegerSolution {
  /**
   * The best solution found, by column, with its cost and a lower bound on the cost of any solution. Undefined if none
   * was found.
   */
  readonly values: Float64Array | undefined;
  readonly cost: number;
  readonly lowerBound: number;
  /** True if it is proven that there is no solution. */
  readonly isInfeasible: boolean;
  /** True if the solver finished. For a problem without whole columns, `cost` is a bound only if this is true. */
  readonly isOptimal: boolean;
}

const optimal = 7;
const infeasible = 8;
const feasiblePoint = 2;

/** The error code if the solver itself fails, for example because memory runs out. @internal */
export const solverFailed = "SOLVER_FAILED";

interface SolverOptions {
  readonly relativeGap: number;
  readonly timeLimitS: number;
}

/**
 * Solves a problem with HiGHS.
 *
 * @throws RematError `SOLVER_FAILED`
 * @internal
 */
export async function solveMixedInteger(
  problem: MixedIntegerProblem,
  options: SolverOptions,
): Promise<MixedIntegerSolution> {
  const highs = await loaded();
  try {
    return run(highs, problem, options);
  } catch (cause) {
    forgetHighs();
    throw new RematError(
      solverFailed,
      `the solver HiGHS failed on ${problem.cost.length} columns and ${problem.rows.length} rows (${(cause as Error).message}). Use another method, such as greedy, or plan a part of the model.`,
      { cause },
    );
  }
}

/** Loads the solver. Bundles for browsers do not contain it. */
async function loaded(): Promise<Highs> {
  try {
    return await loadHighs();
  } catch (cause) {
    forgetHighs();
    throw new RematError(
      solverFailed,
      `the solver HiGHS could not be loaded (${(cause as Error).message}): browser bundles leave it out (3.7 MB). Use another method, such as greedy, or plan in Node.`,
      { cause },
    );
  }
}

function run(highs: Highs, problem: MixedIntegerProblem, options: SolverOptions): MixedIntegerSolution {
  const numCols = problem.cost.length;
  const numRows = problem.rows.length;
  const starts = new Int32Array(numRows + 1);
  const indices: number[] = [];
  const values: number[] = [];
  for (const [r, row] of problem.rows.entries()) {
    for (const column of row.columns) indices.push(column);
    for (const value of row.values) values.push(value);
    starts[r + 1] = indices.length;
  }
  const model = highs.createModel();
  try {
    model.options.set({
      output_flag: false,
      time_limit: options.timeLimitS,
      mip_rel_gap: options.relativeGap,
      mip_abs_gap: 0,
      primal_feasibility_tolerance: 1e-9,
      mip_feasibility_tolerance: 1e-9,
    });
    model.passModel({
      numCols,
      numRows,
      colCost: Float64Array.from(problem.cost),
      colLower: new Float64Array(numCols),
      colUpper: Float64Array.from(problem.upper),
      rowLower: Float64Array.from(problem.rows, (row) => row.atLeast ?? Number.NEGATIVE_INFINITY),
      rowUpper: Float64Array.from(problem.rows, (row) => row.atMost ?? Number.POSITIVE_INFINITY),
      matrix: { format: "csr", numRows, numCols, starts, indices, values },
      integrality: Int32Array.from(problem.isWhole),
    });
    const { modelStatus } = model.run();
    const isFeasible = Number(model.info.get("primal_solution_status")) === feasiblePoint;
    const cost = isFeasible ? model.getObjectiveValue() : Number.POSITIVE_INFINITY;
    const bound = Number(model.info.get("mip_dual_bound"));
    return {
      values: isFeasible ? Float64Array.from(model.getSolution().colValue) : undefined,
      cost,
      lowerBound: modelStatus === optimal && options.relativeGap === 0 ? cost : Math.min(bound, cost),
      isInfeasible: modelStatus === infeasible,
      isOptimal: modelStatus === optimal,
    };
  } finally {
    disposeOf(model);
  }
}

function disposeOf(model: { dispose(): void }): void {
  try {
    model.dispose();
  } catch {
    // After a failure, the first error is the one that matters.
  }
}
