import type { PlanningGraph } from "../graph/planning-graph.js";
import { LoweredBudget, type LoweringLimits } from "./lowered-budget.js";
import { Moves } from "./moves.js";
import { Random } from "./random.js";
import { Schedule } from "./schedule.js";
import { planRound, type Round, warm } from "./search-rounds.js";
import { simulateSchedule } from "./simulate-schedule.js";

export interface SearchOptions {
  /** The budget, or with `lowering` the first one. */
  readonly budgetBytes: number;
  readonly seed: number;
  /** True if the order of first runs may change. */
  readonly isFree: boolean;
  /** Valid sequences to start from in addition to the given order, such as plans for other budgets. */
  readonly starts?: readonly ArrayLike<number>[];
  /** If given, the search lowers its budget for as long as it finds schedules of at most this cost. */
  readonly lowering?: LoweringLimits | undefined;
}

/** Additional cost of every instance, in mean node costs. It prevents free instances from accumulating. */
const instancePrice = 1e-3;

/**
 * Simulated annealing over schedules. The objective is the cost plus a price for memory over the budget. Rounds of
 * growing length start from the best schedule so far. As long as nothing meets the budget, rounds aim halfway between
 * the smallest peak found and the budget.
 *
 * The result depends only on the graph, the options and the number of iterations. @internal
 */
export class ScheduleSearch {
  /** The cheapest sequence within the budget so far. */
  best: Int32Array | undefined;
  bestCost: number = Number.POSITIVE_INFINITY;
  /** Peak of the best sequence. If several sequences are equally cheap, the one with the smallest peak is best. */
  bestPeakBytes: number = Number.POSITIVE_INFINITY;
  /** The sequence with the smallest peak so far. It is needed if no sequence is within the budget. */
  closest: Int32Array;
  closestPeakBytes: number;
  iterations = 0;

  /** With `lowering`: the budget, and the best schedule at any budget. */
  readonly lowered: LoweredBudget | undefined;
  private budgetBytes: number;
  private readonly schedule: Schedule;
  private readonly moves: Moves;
  private readonly random: Random;
  private readonly isFree: boolean;
  private readonly canOffload: boolean;
  private readonly isExact: boolean;
  /**
   * Overflow up to which a schedule counts as within the budget. It allows for rounding if bytes are not whole numbers.
   */
  private readonly tolerance: number;
  private readonly start: Int32Array;
  private readonly meanCost: number;
  private readonly pricePerByte: number;
  private readonly longest: number;
  private price: number;
  private round: Round = warm;
  private roundIndex = -1;
  /** Number of rounds before anything was within the budget. */
  private roundsWithout = 0;
  private roundLength = 0;
  private roundIteration = 0;
  private infeasibleSteps = 0;
  private closestOverflow = Number.POSITIVE_INFINITY;

  constructor(graph: PlanningGraph, options: SearchOptions) {
    const { nodeCount, valueCount } = graph;
    this.isExact = [graph.bytes, graph.workspaceBytes, [graph.baseBytes]].every((sizes) =>
      sizes.every((size) => Number.isInteger(size)),
    );
    // Whole numbers add up without rounding, but the budget must be one as well.
    this.budgetBytes = this.isExact ? Math.floor(options.budgetBytes) : options.budgetBytes;
    this.isFree = options.isFree;
    this.canOffload = graph.transfers !== undefined;
    this.start = Int32Array.from({ length: nodeCount }, (_, v) => v);
    this.schedule = new Schedule(graph, this.budgetBytes, this.start);
    this.random = new Random(options.seed);
    this.moves = new Moves(this.schedule, this.random, options.isFree);
    this.tolerance = this.isExact ? 0 : 1e-9 * options.budgetBytes;
    const sum = (numbers: Float64Array) => numbers.reduce((total, x) => total + x, 0);
    this.meanCost = sum(graph.cost) / Math.max(1, nodeCount) || 1;
    this.pricePerByte = this.meanCost / (sum(graph.bytes) / Math.max(1, valueCount) || 1);
    this.price = this.pricePerByte;
    this.longest = 3 * nodeCount + 100;
    this.closest = this.start;
    this.closestPeakBytes = this.schedule.peakBytes;
    if (options.lowering !== undefined) {
      const { peakBytes: plainBytes } = this.schedule;
      this.lowered = new LoweredBudget(options.lowering, { plainBytes, nodeCount, isExact: this.isExact });
    }
    this.note();
    for (const start of options.starts ?? []) this.offer(start);
  }

  /** The best schedule so far, or the one with the smallest peak if none is within the budget. */
  get result(): Int32Array {
    return this.lowered?.sequence ?? this.best ?? this.closest;
  }

  /** The cost of the best schedule so far, and the smallest peak. */
  get found(): { readonly cost: number | undefined; readonly smallestPeakBytes: number } {
    if (this.lowered !== undefined) return { cost: this.lowered.cost, smallestPeakBytes: this.lowered.peakBytes };
    return { cost: this.best === undefined ? undefined : this.bestCost, smallestPeakBytes: this.closestPeakBytes };
  }

  /** Returns whether the smallest peak is wanted, and a peak is found that no schedule can be below. */
  isSmallest(leastBytes: number): boolean {
    if (this.lowered !== undefined) return this.lowered.peakBytes <= leastBytes;
    return this.best === undefined && this.closestPeakBytes <= leastBytes;
  }

  /** Keeps a valid sequence if it is the best so far. Call it before the first `run`. */
  offer(sequence: ArrayLike<number>): void {
    this.schedule.load(sequence);
    if (this.lowered !== undefined) {
      this.lowerTo(this.lowered);
      return;
    }
    this.note();
    this.noteClosest(sequence);
  }

  /** Continues for `count` iterations. */
  run(count: number): void {
    const { schedule, random } = this;
    for (let left = count; left > 0; left--) {
      if (this.roundIteration === this.roundLength) this.beginRound();
      const { from, to, price } = this.round;
      const temperature = this.meanCost * from * (to / from) ** (this.roundIteration / this.roundLength);
      const { cost, overflow, length } = schedule;
      schedule.mark();
      // The Metropolis criterion: this is the largest increase that the random number accepts.
      const mostWorse = -temperature * Math.log(1 - random.next());
      this.moves.costLimit = cost + mostWorse + this.price * overflow;
      const isChanged = this.change(overflow > 0);
      const worse =
        schedule.cost -
        cost +
        this.price * (schedule.overflow - overflow) +
        instancePrice * this.meanCost * (schedule.length - length);
      if (!isChanged || worse > mostWorse || schedule.length > this.longest) schedule.undo();
      else {
        this.moves.noteWorth();
        this.note();
      }
      if (schedule.overflow > 0) this.infeasibleSteps++;
      this.iterations++;
      if (++this.roundIteration % 100 === 0) {
        if (price === undefined) this.adaptPrice();
        this.infeasibleSteps = 0;
        if (this.lowered?.raise(this.iterations) === true) this.aimFor(this.lowered.budgetBytes);
      }
    }
  }

  private change(isOver: boolean): boolean {
    const { moves, isFree } = this;
    if (this.canOffload && this.random.next() < 0.1) return moves.offloadInstead();
    const choice = this.random.next();
    if (!isOver) return choice < 0.35 ? moves.takeOut() : choice < 0.65 ? moves.exchange() : moves.shift();
    // Moving existing instances pays off most if nearly everything may be moved.
    const relocations = isFree ? 0.3 : 0.15;
    if (choice < 0.4) return moves.recompute();
    if (choice < 0.4 + relocations) return moves.relocate();
    return choice < 0.6 + relocations ? moves.takeOut() : moves.shift();
  }

  private adaptPrice(): void {
    const factor = this.infeasibleSteps > 50 ? 1.1 : 1 / 1.1;
    this.price = Math.min(100 * this.pricePerByte, Math.max(0.01 * this.pricePerByte, this.price * factor));
  }

  private beginRound(): void {
    const { schedule, isFree } = this;
    const hasBest = this.best !== undefined || this.lowered !== undefined;
    if (this.roundIndex >= 0) this.noteClosest(undefined);
    const index = ++this.roundIndex;
    if (!hasBest) this.roundsWithout = index + 1;
    const { round, iterations, isDirect } = planRound({
      index,
      nodes: this.start.length,
      isFree,
      roundsWithout: hasBest ? this.roundsWithout : undefined,
    });
    if (this.lowered !== undefined) {
      this.lowered.beginRound(round.restarts, this.iterations);
      this.aimFor(this.lowered.budgetBytes);
    }
    schedule.load(
      round.restarts ? this.start : (this.best ?? this.lowered?.sequence ?? this.closest),
      isDirect ? this.budgetBytes : this.aimOf(index),
    );
    this.round = round;
    this.roundLength = iterations;
    this.roundIteration = 0;
    this.closestOverflow = Number.POSITIVE_INFINITY;
    this.moves.boldness = round.boldness;
    this.price = this.pricePerByte * (round.price ?? this.price / this.pricePerByte);
  }

  /**
   * Returns the budget to aim for as long as no schedule is within the given budget. In the first two rounds it is the
   * given budget, and later it is halfway to it.
   */
  private aimOf(index: number): number {
    const over = this.closestPeakBytes - this.budgetBytes;
    const isClose = index < 2 || over < 0.002 * this.budgetBytes;
    return isClose ? this.budgetBytes : this.budgetBytes + Math.floor(over / 2);
  }

  /** Keeps the schedule if it is the best so far. */
  private note(): void {
    const { schedule } = this;
    if (schedule.overflow > this.tolerance) {
      if (this.best === undefined && schedule.overflow < this.closestOverflow) {
        this.closestOverflow = schedule.overflow;
        this.noteClosest(undefined);
      }
    } else if (schedule.budgetBytes > this.budgetBytes) {
      if (schedule.peakBytes <= this.budgetBytes) this.keep();
      else this.noteClosest(undefined);
    } else if (schedule.cost < this.bestCost - 1e-9 * this.meanCost) this.keep();
    else if (schedule.cost <= this.bestCost && schedule.peakBytes < this.bestPeakBytes) this.keep();
  }

  private keep(): void {
    if (this.lowered !== undefined && this.lowerTo(this.lowered)) return;
    // Sums of bytes that are not whole numbers have rounding errors.
    if (!this.isExact && simulateSchedule(this.schedule.graph, this.schedule.sequence())!.peakBytes > this.budgetBytes)
      return;
    this.bestCost = this.schedule.cost;
    this.bestPeakBytes = this.schedule.peakBytes;
    this.best = this.schedule.sequence();
  }

  /** Continues below the schedule's peak if it costs little enough. Returns whether it does. */
  private lowerTo(lowered: LoweredBudget): boolean {
    const { cost, peakBytes } = this.schedule;
    if (!lowered.isBetter(peakBytes, cost)) return false;
    lowered.lower(this.schedule.sequence(), peakBytes, cost, this.iterations);
    this.aimFor(lowered.budgetBytes);
    return true;
  }

  /** Changes the budget. The best schedule so far may then be above it. */
  private aimFor(budgetBytes: number): void {
    this.budgetBytes = budgetBytes;
    this.schedule.aimFor(budgetBytes);
    if (this.bestPeakBytes <= budgetBytes) return;
    this.best = undefined;
    this.bestCost = Number.POSITIVE_INFINITY;
    this.bestPeakBytes = Number.POSITIVE_INFINITY;
  }

  private noteClosest(sequence: ArrayLike<number> | undefined): void {
    if (this.lowered !== undefined) return;
    const peakBytes = this.schedule.peakBytes;
    if (peakBytes >= this.closestPeakBytes) return;
    this.closestPeakBytes = peakBytes;
    this.closest = sequence === undefined ? this.schedule.sequence() : Int32Array.from(sequence);
  }
}
