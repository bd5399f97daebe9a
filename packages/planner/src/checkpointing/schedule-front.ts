import { recomputationBound } from "../bound/recomputation-bound.js";
import { workingSet } from "../bound/working-set.js";
import type { PlanningGraph } from "../graph/planning-graph.js";
import { type Rematerialization, type RematerializeOptions, rematerialize } from "../rematerialize.js";

/** How much to look, per budget. @internal */
export type SearchEffort = Pick<RematerializeOptions, "timeMs" | "iterations" | "boundTimeMs">;

/**
 * Schedules of one graph under many budgets, each search beginning with what others found: a schedule for a budget is one for every larger
 * budget, so that costs never rise with the budget.
 * @internal
 */
export class ScheduleFront {
  readonly graph: PlanningGraph;
  private readonly found: Rematerialization[] = [];
  private readonly options: Omit<RematerializeOptions, "budgetBytes">;

  constructor(graph: PlanningGraph, options: Omit<RematerializeOptions, "budgetBytes">) {
    this.graph = graph;
    this.options = options;
  }

  /** Looks for a schedule within `budgetBytes`; the answer is the best known, whenever it was found. */
  async search(budgetBytes: number, effort: SearchEffort): Promise<Rematerialization | undefined> {
    const within = this.cheapestWithin(budgetBytes);
    const starts = [within, this.smallest()].flatMap((known) => (known === undefined ? [] : [known.sequence]));
    const { timeMs: _timeMs, iterations: _iterations, ...options } = this.options;
    this.found.push(await rematerialize(this.graph, { ...options, ...effort, budgetBytes, starts }));
    return this.cheapestWithin(budgetBytes);
  }

  /** Tells how much cheaper a schedule within as many bytes could be. */
  async bound(schedule: Rematerialization, limitMs: number): Promise<Rematerialization> {
    const { cost, peakBytes, plain } = schedule;
    const { extraCost } = await recomputationBound(this.graph, peakBytes, {
      timeLimitS: limitMs / 1000,
      enoughCost: cost - plain.cost,
    });
    // A schedule there is: what the solver takes for infeasible then is so by its tolerance.
    const lowerBound = Math.max(schedule.lowerBound, Number.isFinite(extraCost) ? plain.cost + extraCost : plain.cost);
    return {
      ...schedule,
      lowerBound: Math.min(lowerBound, cost),
      gap: cost > 0 ? Math.max(0, (cost - lowerBound) / cost) : 0,
    };
  }

  /** Looks for the smallest peak there is. */
  async searchSmallest(effort: SearchEffort): Promise<Rematerialization> {
    const { bytes } = workingSet(this.graph, this.options.order === "free");
    await this.search(Math.max(1, bytes), { ...effort, boundTimeMs: 0 });
    return this.smallest()!;
  }

  /** The cheapest schedule known within a budget; of equally cheap ones the smallest. */
  cheapestWithin(budgetBytes: number): Rematerialization | undefined {
    return best(
      this.found.filter(({ peakBytes }) => peakBytes <= budgetBytes),
      (a, b) => a.cost - b.cost || a.peakBytes - b.peakBytes,
    );
  }

  /** The smallest schedule known of at most that overhead; of equally small ones the cheapest. */
  smallestWithin(overhead: number): Rematerialization | undefined {
    return best(
      this.found.filter((known) => known.overhead <= overhead + 1e-9),
      (a, b) => a.peakBytes - b.peakBytes || a.cost - b.cost,
    );
  }

  smallest(): Rematerialization | undefined {
    return this.smallestWithin(Number.POSITIVE_INFINITY);
  }

  /** Halves the range between budgets that cost too much and budgets that do not, `steps` times. */
  async narrow(overhead: number, steps: number, effort: SearchEffort): Promise<void> {
    for (let i = 0; i < steps && this.options.signal?.aborted !== true; i++) {
      const fits = this.smallestWithin(overhead);
      if (fits === undefined) return;
      const smaller = this.found
        .filter(({ peakBytes }) => peakBytes < fits.peakBytes)
        .map(({ peakBytes }) => peakBytes);
      if (smaller.length === 0) return;
      const below = Math.max(...smaller);
      if (fits.peakBytes - below < 0.002 * fits.peakBytes) return;
      await this.search((fits.peakBytes + below) / 2, { ...effort, boundTimeMs: 0 });
    }
  }
}

function best<T>(items: readonly T[], compare: (a: T, b: T) => number): T | undefined {
  return items.reduce<T | undefined>(
    (one, item) => (one === undefined || compare(item, one) < 0 ? item : one),
    undefined,
  );
}
