import { RematError } from "@remat/trace";
import { quickStarts, quickStartsWithin } from "./blocks/quick-starts.js";
import { recomputationBound } from "./bound/recomputation-bound.js";
import { workingSet } from "./bound/working-set.js";
import { defaultTimeMs } from "./default-time-ms.js";
import { type PlanningGraph, withoutLink } from "./graph/planning-graph.js";
import { deferSources } from "./schedule/defer-sources.js";
import { exactSchedule, exactScheduleWithin } from "./schedule/exact-schedule.js";
import { ScheduleSearch } from "./schedule/schedule-search.js";
import { simulateSchedule } from "./schedule/simulate-schedule.js";
import { withoutIdleReloads } from "./schedule/without-idle-reloads.js";

/** Options for {@link rematerialize}. */
export interface RematerializeOptions {
  /** The memory limit at any moment, including `graph.baseBytes`. */
  readonly budgetBytes: number;
  /**
   * If given, the goal is the smallest peak with at most this overhead, and not the lowest cost within the budget. The
   * search lowers its own budget, in steps of at least 0.05% of the plain peak. `budgetBytes` then only decides
   * `isFeasible`.
   */
  readonly maxOverhead?: number | undefined;
  /**
   * `fixed` (the default): nodes first run in the given order, which is the order of the user's code and the tape.
   * `free`: nodes first run in any valid order.
   */
  readonly order?: "fixed" | "free" | undefined;
  /** Time limit in milliseconds. Default: 5000, unless `iterations` is given. */
  readonly timeMs?: number | undefined;
  /** Number of changes to try. The same graph, seed and number give the same schedule. */
  readonly iterations?: number | undefined;
  readonly seed?: number | undefined;
  /**
   * Milliseconds for proving a lower bound on the cost: part of `timeMs`, or in addition to `iterations`. 0 skips it.
   */
  readonly boundTimeMs?: number | undefined;
  /** True if values may be offloaded when the graph has costs for that. Default: true. */
  readonly canOffload?: boolean | undefined;
  /** Sequences to start from in addition to the given order, such as schedules for other budgets. */
  readonly starts?: readonly ArrayLike<number>[];
  /** Called about ten times per second. */
  readonly onProgress?: ((progress: RematerializeProgress) => void) | undefined;
  /** Stops the search early. The result is the best schedule found so far. */
  readonly signal?: AbortSignal | undefined;
}

/** The progress of {@link rematerialize}. */
export interface RematerializeProgress {
  /** Time since the start, in milliseconds. */
  readonly elapsedMs: number;
  /** Iterations so far. */
  readonly iterations: number;
  /** Cost of the best schedule so far within the budget, or with `maxOverhead`; undefined if none exists. */
  readonly cost: number | undefined;
  /** The smallest peak so far. Without `maxOverhead`, it is only tracked until a schedule within the budget is found. */
  readonly smallestPeakBytes: number;
  /** A lower bound on the cost of any schedule within the budget. */
  readonly lowerBound: number;
}

/** The result of {@link rematerialize}: a schedule and its properties. */
export interface Rematerialization {
  /** True if `sequence` is within the budget. If false, `sequence` is the schedule with the smallest peak found. */
  readonly isFeasible: boolean;
  /**
   * Node indices in the order in which they run. A node may occur several times. `~node` reloads the offloaded value of
   * a node and runs nothing.
   */
  readonly sequence: Int32Array;
  /** Peak memory of the schedule, in bytes. */
  readonly peakBytes: number;
  /** Cost of all runs in the schedule. */
  readonly cost: number;
  /** Added cost as a fraction of running every node once. */
  readonly overhead: number;
  /** A lower bound on the cost of any schedule within the budget. */
  readonly lowerBound: number;
  /**
   * The optimality gap: how much cheaper a schedule could be at most, as a fraction of `cost`. It is 0 if proven
   * optimal.
   */
  readonly gap: number;
  /** The budget of the search, in bytes. */
  readonly budgetBytes: number;
  readonly order: "fixed" | "free";
  readonly seed: number;
  readonly iterations: number;
  /** Duration of the search. */
  readonly seconds: number;
  /** Peak and cost of running every node once in the given order. */
  readonly plain: { readonly peakBytes: number; readonly cost: number };
  /** A lower bound on the peak of any schedule, and the node that needs that much. */
  readonly workingSet: { readonly bytes: number; readonly node: number };
  /** True if it is proven that no schedule is within the budget. */
  readonly isProvenInfeasible: boolean;
}

const sliceMs = 25;
/**
 * For a search with a number of changes: how many changes it makes before it checks whether to stop. It thus ends after the same change on every machine.
 */
const askedEvery = 50;
/** The share of its changes after which a search with a number of changes computes a bound. */
const boundedAfter = 0.1;
/** Number of changes in the first slice. On a graph of a hundred thousand nodes, they take the whole slice. */
const firstSlice = 50;
const solverTolerance = 1e-6;
const overheadRounding = 1e-10;

/**
 * Finds the order in which, and how often, to run the nodes of a graph, so that memory stays within a budget at the
 * lowest cost. Values that do not fit are freed and recomputed or, in a graph with costs for transfers, offloaded and
 * reloaded. A feasible result never exceeds the budget. If no schedule within the budget is found, `isFeasible` is
 * false, and the result has the smallest peak found.
 *
 * A graph of up to 16 nodes is solved exactly, unless that takes too many states. For larger graphs, it searches by
 * simulated annealing over sequences, with memory kept up to date at every position. A mixed-integer program gives a
 * lower bound on the cost of any schedule with the given order of first runs. The search works in slices of about 25
 * ms, so that a browser stays responsive.
 *
 * @throws RematError `BUDGET` if the budget is not a positive number, or if `maxOverhead`, `iterations` or a time is
 * negative or not a number
 * @example
 * const graph = readGraphFile(JSON.parse(text));
 * const { sequence, overhead, gap } = await rematerialize(graph, { budgetBytes: 0.8 * 46_319, timeMs: 2000 });
 */
export async function rematerialize(given: PlanningGraph, options: RematerializeOptions): Promise<Rematerialization> {
  const graph = options.canOffload === false ? withoutLink(given) : given;
  const began = performance.now();
  const { budgetBytes, maxOverhead, order = "fixed", seed = 0, iterations, signal } = options;
  checkOptions(options);
  const isFree = order === "free";
  const timeMs =
    iterations === undefined ? (options.timeMs ?? defaultTimeMs) : (options.timeMs ?? Number.POSITIVE_INFINITY);
  const plainSequence = Int32Array.from({ length: graph.nodeCount }, (_, v) => v);
  const plain = simulateSchedule(graph, plainSequence)!;
  // At the end the found schedule, which is longer, is simulated as many times again.
  const endMs = 3 * (performance.now() - began);
  const least = workingSet(graph, isFree);
  const lowering =
    maxOverhead === undefined ? undefined : { mostCost: costWithin(plain.cost, maxOverhead), leastBytes: least.bytes };

  let lowerBound = plain.cost;
  let isProvenInfeasible = least.bytes > budgetBytes;
  const quickDeadline = began + 0.3 * timeMs;
  const search = new ScheduleSearch(graph, {
    budgetBytes: lowering === undefined ? budgetBytes : plain.peakBytes,
    seed,
    isFree,
    starts:
      options.starts ??
      (lowering === undefined
        ? quickStarts(graph, budgetBytes, plain.peakBytes, quickDeadline)
        : quickStartsWithin(graph, lowering, plain.peakBytes, quickDeadline)),
    lowering,
  });
  let isSolved = false;
  if (lowering !== undefined) {
    const smallest = exactScheduleWithin(graph, lowering, isFree);
    if (smallest !== undefined) {
      search.offer(smallest);
      isSolved = true;
    }
  } else if (plain.peakBytes > budgetBytes && !isProvenInfeasible) {
    const exact = exactSchedule(graph, budgetBytes, isFree);
    if (exact?.sequence !== undefined) {
      search.offer(exact.sequence);
      lowerBound = search.bestCost;
    } else if (exact !== undefined) isProvenInfeasible = true;
  }
  const elapsed = () => performance.now() - began;
  // The search ends if the bound equals the best cost, up to the solver's tolerance.
  const isProven = () => search.bestCost <= lowerBound * (1 + solverTolerance);
  const isSmallest = () => isSolved || search.isSmallest(least.bytes);
  const isOver = () =>
    isProven() ||
    isSmallest() ||
    elapsed() + endMs >= timeMs ||
    search.iterations >= (iterations ?? Number.POSITIVE_INFINITY) ||
    signal?.aborted === true;

  const boundTimeMs = options.boundTimeMs ?? (iterations === undefined ? 0.35 * timeMs : 2000);
  let needsBound =
    lowering === undefined && !isFree && boundTimeMs > 0 && plain.peakBytes > budgetBytes && !isProvenInfeasible;
  const boundedAt = Math.min(iterations ?? 0, askedEvery * Math.ceil((boundedAfter * (iterations ?? 0)) / askedEvery));
  /** Continues up to a number of changes. Stops if the search is over or a bound is due. */
  const runCounted = (to: number): void => {
    while (search.iterations < to && !isProven() && !isSmallest()) {
      const before = search.iterations;
      const next = Math.min(to, askedEvery * (Math.floor(before / askedEvery) + 1));
      search.run(next - before);
      if (search.iterations === before || (needsBound && search.iterations >= boundedAt)) return;
    }
  };
  let slice = firstSlice;
  let lastProgress = 0;
  while (!isOver()) {
    const sliceBegan = performance.now();
    if (iterations === undefined) search.run(slice);
    else runCounted(Math.min(iterations, askedEvery * Math.ceil((search.iterations + slice) / askedEvery)));
    const tookMs = performance.now() - sliceBegan;
    if (tookMs < sliceMs / 2) slice *= 2;
    else if (tookMs > sliceMs * 2 && slice > 1) slice >>= 1;
    // The bound is computed once, after some search. A schedule that meets it is optimal, and ends the search.
    if (
      needsBound &&
      (iterations === undefined
        ? elapsed() > 0.1 * timeMs || (search.best !== undefined && elapsed() > 100)
        : search.iterations >= boundedAt)
    ) {
      needsBound = false;
      const limitMs = Math.min(boundTimeMs, timeMs - endMs - elapsed());
      if (limitMs > 0) {
        const bound = await recomputationBound(graph, budgetBytes, {
          timeLimitS: limitMs / 1000,
          enoughCost: search.bestCost - plain.cost,
        });
        if (bound.isInfeasible) isProvenInfeasible = true;
        else lowerBound = plain.cost + bound.extraCost;
      }
    }
    if (elapsed() - lastProgress >= 100) {
      lastProgress = elapsed();
      options.onProgress?.({
        elapsedMs: lastProgress,
        iterations: search.iterations,
        ...search.found,
        lowerBound,
      });
    }
    await new Promise((resolve) => setTimeout(resolve));
  }
  const sequence = deferSources(graph, withoutIdleReloads(graph, search.result));
  const found = simulateSchedule(graph, sequence)!;
  if (lowering === undefined && search.best !== undefined && found.peakBytes > budgetBytes)
    throw new RematError(
      "PLANNER_BUG",
      `a schedule of ${found.peakBytes} bytes exceeds the budget of ${budgetBytes}. Please report this graph as a bug.`,
    );
  return {
    isFeasible: found.peakBytes <= budgetBytes,
    sequence,
    peakBytes: found.peakBytes,
    cost: found.cost,
    overhead: plain.cost > 0 ? (found.cost - plain.cost) / plain.cost : 0,
    lowerBound: isProven() ? found.cost : lowerBound,
    gap: isProven() || found.cost === 0 ? 0 : (found.cost - lowerBound) / found.cost,
    budgetBytes,
    order,
    seed,
    iterations: search.iterations,
    seconds: elapsed() / 1000,
    plain: { peakBytes: plain.peakBytes, cost: plain.cost },
    workingSet: least,
    isProvenInfeasible,
  };
}

/** Returns the highest cost with an overhead, which is itself rounded. @internal */
export function costWithin(plainCost: number, overhead: number): number {
  return plainCost * (1 + overhead + overheadRounding);
}

function checkOptions({ budgetBytes, maxOverhead, iterations, timeMs, boundTimeMs }: RematerializeOptions): void {
  if (!(typeof budgetBytes === "number" && budgetBytes > 0 && budgetBytes < Number.POSITIVE_INFINITY))
    throw new RematError(
      "BUDGET",
      `the budget must be bytes above 0; found ${JSON.stringify(budgetBytes)}. Pass a number, such as 0.9 * plain.peakBytes.`,
    );
  for (const [name, value] of Object.entries({ maxOverhead, iterations, timeMs, boundTimeMs }))
    if (value !== undefined && !(typeof value === "number" && value >= 0))
      throw new RematError("BUDGET", `${name} must be a number of at least 0; found ${JSON.stringify(value)}.`);
}
