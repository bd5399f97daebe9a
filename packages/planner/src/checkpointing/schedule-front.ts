import { BlockPlans } from "../blocks/block-plans.js";
import { helpedNodes, quickStarts, quickStartsWithin } from "../blocks/quick-starts.js";
import { recomputationBound } from "../bound/recomputation-bound.js";
import { workingSet } from "../bound/working-set.js";
import type { PlanningGraph } from "../graph/planning-graph.js";
import { costWithin, type Rematerialization, type RematerializeOptions, rematerialize } from "../rematerialize.js";
import type { SearchEffort, SharedEffort } from "./search-effort.js";
import type { SearchRunner } from "./search-runner.js";

/**
 * Number of changes to try for the plans of blocks, per millisecond or per change of a call. This takes about a third
 * of the call's time.
 */
const blockChanges = { perMs: 150, perChange: 1 };

/** Largest fraction of a call's time for the plans of blocks. */
const blockShare = 0.4;
/** Largest fraction of a call's time for the quick schedules from which each search starts. */
const quickShare = 0.2;

/** Time needed to begin and end a search on the smallest graph. */
const leastSearchMs = 5;

interface FrontSearch {
  readonly budgetBytes: number;
  /** If given, the search is for the smallest peak within this overhead. */
  readonly maxOverhead?: number;
  readonly weight: number;
  /**
   * The schedules that the search starts from. By default, the search starts from known schedules. `blocks` adds
   * schedules built from blocks. `plain` uses only the plain order.
   */
  readonly begin?: "blocks" | "plain";
  readonly hasBound?: boolean;
  readonly addToSeed?: number;
}

/** Options that apply to all searches of a front. @internal */
export type FrontOptions = Pick<
  RematerializeOptions,
  "order" | "seed" | "boundTimeMs" | "signal" | "onProgress" | "canOffload"
>;

/**
 * Schedules of one graph under many budgets. Each search starts from the schedules that others found. A schedule for a
 * budget is also valid for every larger budget, so costs never rise with the budget. On large graphs, searches also
 * start from schedules built from blocks. @internal
 */
export class ScheduleFront {
  readonly graph: PlanningGraph;
  /** The schedule that runs every node once, in order. */
  readonly plain: Rematerialization;
  private readonly found: Rematerialization[];
  private readonly runner: SearchRunner;
  private readonly effort: SharedEffort;
  private readonly options: FrontOptions;
  private readonly began: number;
  /** A lower bound on the peak of any schedule. */
  private readonly leastBytes: number;
  private blocks: BlockPlans | undefined;
  private hasPrepared = false;
  /** Sorted by budget. */
  private readonly quickStarts = new Map<number, readonly Int32Array[]>();
  /** Overhead of a search in milliseconds, which matters on a large graph. */
  private leastMs = 0;
  private iterations = 0;

  private constructor(
    plain: Rematerialization,
    {
      graph,
      runner,
      effort,
      began,
    }: { graph: PlanningGraph; runner: SearchRunner; effort: SharedEffort; began: number },
    options: FrontOptions,
  ) {
    this.graph = graph;
    this.runner = runner;
    this.effort = effort;
    this.began = began;
    this.options = options;
    this.plain = plain;
    this.found = [plain];
    this.leastBytes = workingSet(graph, options.order === "free").bytes;
  }

  static async begin(
    given: { graph: PlanningGraph; runner: SearchRunner; effort: SharedEffort; began: number },
    options: FrontOptions,
  ): Promise<ScheduleFront> {
    const { order, seed } = options;
    const { graph } = given;
    const beganPlain = performance.now();
    const plain = await rematerialize(graph, {
      order,
      seed,
      budgetBytes: Number.MAX_VALUE,
      iterations: 0,
      boundTimeMs: 0,
    });
    const front = new ScheduleFront(plain, given, options);
    front.leastMs = performance.now() - beganPlain;
    return front;
  }

  /**
   * Adds schedules found without offloading. With offloading they cost no more, but bounds that were proven without
   * offloading no longer hold.
   */
  learnFrom({ found }: ScheduleFront): void {
    for (const { plain, ...schedule } of found)
      this.found.push({ ...schedule, plain, lowerBound: plain.cost, isProvenInfeasible: false });
  }

  /** Plans blocks before the first search. */
  private async prepareBlocks(): Promise<void> {
    const { graph, effort } = this;
    const { order, seed, signal } = this.options;
    // Blocks only recompute. If values may be offloaded, those schedules are known already.
    if (
      this.hasPrepared ||
      this.graph.transfers !== undefined ||
      order === "free" ||
      graph.nodeCount < helpedNodes ||
      effort.total <= 0
    )
      return;
    this.hasPrepared = true;
    const changes = effort.total * (effort.isTimed ? blockChanges.perMs : blockChanges.perChange);
    const blocks = new BlockPlans(graph, seed ?? 0);
    await blocks.prepare(changes, signal, effort.momentAfter(blockShare));
    if (blocks.structure.length > 0) this.blocks = blocks;
  }

  /** Searches for the best schedule within a budget. The last step consists of `searches` searches. */
  async searchBest(budgetBytes: number, weight: number, searches: number): Promise<void> {
    if (budgetBytes >= this.plain.peakBytes) return;
    // No schedule can be within it, so search for the one that comes closest.
    if (budgetBytes < this.leastBytes) return this.searchSmallest(weight);
    let last = weight;
    await this.prepareBlocks();
    if (this.blocks !== undefined) {
      // Schedules built from blocks may be far from the best, so one search starts without them.
      await this.run([
        { budgetBytes, weight: 0.4 * weight, begin: "blocks" },
        { budgetBytes, weight: 0.1 * weight, begin: "plain" },
      ]);
      last = 0.5 * weight;
    }
    const seeds = Array.from({ length: searches }, (_, i) => i);
    await this.run(
      seeds.map((seed) => ({ budgetBytes, weight: last / searches, addToSeed: seed, hasBound: seed === 0 })),
    );
  }

  /** Searches for schedules within each of several budgets. Each search can use schedules found for other budgets. */
  async searchEach(budgets: readonly number[], weight: number): Promise<void> {
    const limits = this.affordable(budgets.filter((bytes) => bytes < this.plain.peakBytes));
    const each = weight / 2 / Math.max(1, limits.length);
    await this.run(limits.map((budgetBytes) => ({ budgetBytes, weight: each, begin: "blocks", hasBound: true })));
    await this.run(limits.map((budgetBytes) => ({ budgetBytes, weight: each })));
  }

  /**
   * Returns as many of the budgets as there is time for, equally spaced. The other budgets use the schedules found for
   * these.
   */
  private affordable(budgets: readonly number[]): readonly number[] {
    const eachMs = Math.max(leastSearchMs, 2 * this.leastMs);
    const most = Math.max(1, Math.floor((this.effort.leftMs * this.runner.workers) / 2 / eachMs));
    if (budgets.length <= most) return budgets;
    return Array.from({ length: most }, (_, i) => budgets[Math.floor(((i + 1) * budgets.length) / most) - 1]);
  }

  private async run(searches: readonly FrontSearch[]): Promise<void> {
    const { signal } = this.options;
    if (searches.length === 0 || signal?.aborted === true) return;
    await this.prepareBlocks();
    // Building schedules takes time, so it happens before the effort is divided.
    const starts = searches.map((search) => this.startsOf(search));
    const efforts = this.effort.take(
      searches.map(({ weight }) => weight),
      this.runner.workers,
    );
    const isHopeless = efforts.every(({ timeMs = Number.POSITIVE_INFINITY }) => timeMs <= this.leastMs);
    const isKnown = ({ budgetBytes, maxOverhead }: FrontSearch): boolean =>
      maxOverhead === undefined ? this.isMet(budgetBytes) : this.found.length > 1;
    if (isHopeless && searches.every(isKnown)) return;
    const before = this.iterations;
    const tasks = searches.map((search, i) => ({ ...this.taskOf(search, efforts[i], before), starts: starts[i] }));
    for (const [i, found] of (await this.runner.run(tasks)).entries()) {
      const schedule = found ?? (await this.beginningOf(tasks[i]));
      this.iterations += schedule.iterations;
      this.found.push(schedule);
    }
  }

  /** Returns the best of the schedules that a failed search started from. */
  private async beginningOf({ timeMs: _, ...task }: RematerializeOptions): Promise<Rematerialization> {
    return rematerialize(this.graph, { ...task, iterations: 0, boundTimeMs: 0 });
  }

  private isMet(budgetBytes: number): boolean {
    return this.found.some(({ peakBytes }) => peakBytes <= budgetBytes);
  }

  private startsOf({ budgetBytes, maxOverhead, begin }: FrontSearch): readonly Int32Array[] {
    if (begin === "plain") return [];
    if (maxOverhead !== undefined)
      return [
        ...(begin === "blocks" ? this.quickStartsWithin(maxOverhead) : []),
        this.smallestWithin(maxOverhead).sequence,
      ];
    const known = [this.cheapestWithin(budgetBytes), this.smallest()];
    return [
      ...(begin === "blocks" ? (this.blocks?.startsFor(budgetBytes) ?? []) : []),
      ...this.quickStartsFor(budgetBytes),
      ...known.flatMap((schedule) => (schedule === undefined ? [] : [schedule.sequence])),
    ];
  }

  private quickStartsFor(budgetBytes: number): readonly Int32Array[] {
    const known = this.quickStarts.get(budgetBytes);
    if (known !== undefined) return known;
    const deadline = this.effort.momentAfter(quickShare, performance.now());
    const starts = quickStarts(this.graph, budgetBytes, this.plain.peakBytes, deadline);
    this.quickStarts.set(budgetBytes, starts);
    return starts;
  }

  private quickStartsWithin(overhead: number): readonly Int32Array[] {
    const { graph, plain, leastBytes, blocks } = this;
    const deadline = this.effort.momentAfter(quickShare, performance.now());
    const lowering = { mostCost: costWithin(plain.cost, overhead), leastBytes };
    return quickStartsWithin(graph, lowering, plain.peakBytes, deadline, (bytes) => blocks?.startsFor(bytes) ?? []);
  }

  private taskOf(
    { budgetBytes, maxOverhead, hasBound = false, addToSeed = 0 }: FrontSearch,
    effort: SearchEffort,
    iterationsBefore: number,
  ): RematerializeOptions {
    const { signal, onProgress, boundTimeMs, order, seed, canOffload } = this.options;
    // A search that starts from plans of blocks has little left to find, and a bound takes its time on a large graph.
    const usualMs = this.blocks !== undefined && this.effort.isTimed ? 0.6 * effort.timeMs! : undefined;
    const boundMs = hasBound ? (boundTimeMs ?? usualMs) : 0;
    return {
      ...effort,
      budgetBytes,
      ...(maxOverhead !== undefined && { maxOverhead }),
      seed: (seed ?? 0) + addToSeed,
      order,
      canOffload,
      boundTimeMs: boundMs,
      signal,
      ...(onProgress && {
        onProgress: (progress) => {
          const known =
            maxOverhead === undefined
              ? (this.cheapestWithin(budgetBytes)?.cost ?? Number.POSITIVE_INFINITY)
              : Number.POSITIVE_INFINITY;
          const cost = Math.min(progress.cost ?? Number.POSITIVE_INFINITY, known);
          onProgress({
            ...progress,
            elapsedMs: performance.now() - this.began,
            iterations: iterationsBefore + progress.iterations,
            cost: cost < Number.POSITIVE_INFINITY ? cost : undefined,
            smallestPeakBytes: Math.min(progress.smallestPeakBytes, this.smallest().peakBytes),
          });
        },
      }),
    };
  }

  /** Computes a bound on how much cheaper a schedule with the same memory could be. */
  async bound(schedule: Rematerialization, weight: number): Promise<Rematerialization> {
    const [{ timeMs }] = this.effort.take([weight], 1);
    const limitMs = this.options.boundTimeMs ?? timeMs ?? 2000;
    if (limitMs <= 0 || this.options.order === "free" || this.options.signal?.aborted === true) return schedule;
    const { cost, peakBytes, plain } = schedule;
    const { extraCost } = await recomputationBound(this.graph, peakBytes, {
      timeLimitS: limitMs / 1000,
      enoughCost: cost - plain.cost,
    });
    // A schedule exists, so if the solver reports that the problem is infeasible, this is due to its tolerance.
    return bounded(schedule, Number.isFinite(extraCost) ? plain.cost + extraCost : plain.cost);
  }

  /** Searches for the smallest possible peak. */
  async searchSmallest(weight: number): Promise<void> {
    if (this.smallest().peakBytes > this.leastBytes)
      await this.run([{ budgetBytes: Math.max(1, this.leastBytes), weight, begin: "blocks" }]);
  }

  /**
   * Returns the cheapest known schedule within a budget, with the best known bound. If several are equally cheap, it
   * returns the one with the smallest peak.
   */
  cheapestWithin(budgetBytes: number): Rematerialization | undefined {
    const schedule = best(
      this.found.filter(({ peakBytes }) => peakBytes <= budgetBytes),
      (a, b) => a.cost - b.cost || a.peakBytes - b.peakBytes,
    );
    return schedule && this.withBound(schedule, budgetBytes);
  }

  /**
   * Returns the known schedule with the smallest peak for at most this overhead. If several have that peak, it returns
   * the cheapest.
   */
  smallestWithin(overhead: number): Rematerialization {
    const schedule = best(
      this.found.filter((known) => known.overhead <= overhead + 1e-9),
      (a, b) => a.peakBytes - b.peakBytes || a.cost - b.cost,
    )!;
    return this.withBound(schedule, schedule.peakBytes);
  }

  smallest(): Rematerialization {
    return this.smallestWithin(Number.POSITIVE_INFINITY);
  }

  /** Returns whether it is proven that no schedule is within the budget. */
  isProvenInfeasible(budgetBytes: number): boolean {
    return (
      budgetBytes < this.leastBytes ||
      this.found.some((known) => known.isProvenInfeasible && known.budgetBytes >= budgetBytes)
    );
  }

  /**
   * Searches for the smallest peak within an overhead. The first search starts from quick schedules, and the last step
   * consists of `searches` searches that start from its result.
   */
  async searchWithin(overhead: number, weight: number, searches: number): Promise<void> {
    if (this.smallestWithin(overhead).peakBytes <= this.leastBytes) return;
    const { peakBytes: budgetBytes } = this.plain;
    const task = { budgetBytes, maxOverhead: overhead };
    if (searches > 1) await this.run([{ ...task, weight: weight / 2, begin: "blocks" }]);
    const seeds = Array.from({ length: searches }, (_, i) => i);
    const last = searches > 1 ? { weight: weight / 2 / searches } : { weight, begin: "blocks" as const };
    await this.run(seeds.map((seed) => ({ ...task, ...last, addToSeed: seed })));
  }

  /**
   * Returns a schedule with the best bound from searches with at least as much memory. Their bounds are valid, because
   * less memory never costs less.
   */
  private withBound(schedule: Rematerialization, budgetBytes: number): Rematerialization {
    let lowerBound = schedule.plain.cost;
    for (const known of this.found)
      if (known.budgetBytes >= budgetBytes && !known.isProvenInfeasible)
        lowerBound = Math.max(lowerBound, known.lowerBound);
    const { began, iterations } = this;
    return { ...bounded(schedule, lowerBound), budgetBytes, iterations, seconds: (performance.now() - began) / 1000 };
  }
}

function bounded(schedule: Rematerialization, lowerBound: number): Rematerialization {
  const { cost } = schedule;
  const bound = Math.min(cost, lowerBound);
  return { ...schedule, lowerBound: bound, gap: cost > 0 ? (cost - bound) / cost : 0 };
}

function best<T>(items: readonly T[], compare: (a: T, b: T) => number): T | undefined {
  return items.reduce<T | undefined>(
    (one, item) => (one === undefined || compare(item, one) < 0 ? item : one),
    undefined,
  );
}
