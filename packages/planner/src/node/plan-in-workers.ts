import { availableParallelism } from "node:os";
import { RematError, type Trace } from "@remat/trace";
import { type CheckpointingAnswer, type CheckpointingOptions, findPlans } from "../checkpointing/plan-checkpointing.js";
import { findSchedules, type ScheduleAnswer, type ScheduleOptions } from "../checkpointing/plan-schedules.js";
import type { PlanningGraph } from "../graph/planning-graph.js";
import { hasWorkers, SearchPool } from "./search-pool.js";

/** Options for searching in worker threads. */
export interface WorkerOptions {
  /**
   * Number of threads that search at the same time. Default: the number of cores, up to 4. Each has a copy of the
   * graph.
   */
  readonly workers?: number | undefined;
}

const mostWorkers = 4;

/**
 * Plans like `planCheckpointing` of `@remat/planner`, with its searches in worker threads. The budgets of a front run
 * in parallel. For one budget, several seeds run in parallel, and the best result counts. By default, `searches` is the
 * number of workers if there is a time limit, and 1 if there is a number of iterations. With the same `iterations`,
 * `seed` and `searches` the answer is the same as in one thread.
 *
 * @throws RematError `WORKERS` unless `workers` is a whole number of at least 1, and the errors of `planCheckpointing`
 * of `@remat/planner`
 * @example
 * const { front } = await planCheckpointing(trace, { maxOverhead: 0.05, paretoPoints: 20, timeMs: 20_000 });
 */
export async function planCheckpointing(
  trace: Trace,
  options: CheckpointingOptions & WorkerOptions,
): Promise<CheckpointingAnswer> {
  const workers = workersOf(options);
  return findPlans(trace, withSearches(options, workers), async (graph, use) => inPool(graph, workers, use));
}

/**
 * Plans like `planSchedules` of `@remat/planner`, with its searches in worker threads.
 *
 * @throws RematError `WORKERS` unless `workers` is a whole number of at least 1, and the errors of `planSchedules` of
 * `@remat/planner`
 * @example
 * const { point } = await planSchedules(readGraphFile(file), { budgetFraction: 0.8, order: "free", workers: 4 });
 */
export async function planSchedules(
  graph: PlanningGraph,
  options: ScheduleOptions & WorkerOptions,
): Promise<ScheduleAnswer> {
  const began = performance.now();
  const workers = workersOf(options);
  return inPool(graph, workers, (runner) =>
    findSchedules(graph, withSearches(options, workers), { runner, began, reserveMs: 0 }),
  );
}

async function inPool<T>(graph: PlanningGraph, workers: number, use: (pool: SearchPool) => Promise<T>): Promise<T> {
  const pool = new SearchPool(graph, workers);
  try {
    return await use(pool);
  } finally {
    await pool.close();
  }
}

function workersOf({ workers }: WorkerOptions): number {
  const count = workers ?? Math.min(mostWorkers, availableParallelism());
  if (Number.isInteger(count) && count >= 1) return hasWorkers() ? count : 1;
  throw new RematError(
    "WORKERS",
    `workers must be a whole number of at least 1; found ${JSON.stringify(workers)}. Leave it out for one per core.`,
  );
}

function withSearches<T extends { readonly searches?: number | undefined; readonly iterations?: number | undefined }>(
  options: T,
  workers: number,
): T {
  return { ...options, searches: options.searches ?? (options.iterations === undefined ? workers : 1) };
}
