import type { PlanningGraph } from "../graph/planning-graph.js";
import { Moves } from "./moves.js";
import { Random } from "./random.js";
import { Schedule } from "./schedule.js";
import { simulateSchedule } from "./simulate-schedule.js";

export interface SearchOptions {
  readonly budgetBytes: number;
  readonly seed: number;
  /** Whether first computations may change their order. */
  readonly isFree: boolean;
  /** Sequences that can run, to begin with besides the given order: plans of other budgets. */
  readonly starts?: readonly ArrayLike<number>[];
}

interface Round {
  /** Temperatures at the beginning and at the end, in mean node costs. */
  readonly from: number;
  readonly to: number;
  /** Price of overflow, in mean node costs per mean value; undefined: goes with how often the budget is exceeded. */
  readonly price?: number;
  readonly restarts: boolean;
}

const warm: Round = { from: 1, to: 0.01, restarts: false };
const cool: Round = { from: 0.3, to: 0.003, restarts: false };
const warmer: Round = { from: 3, to: 0.01, restarts: false };
/** Wanders far, through sequences over the budget, before it settles: for tight budgets on small graphs. */
const hot: Round = { from: 10, to: 0.1, price: 3, restarts: true };
const hotGraphNodes = 600;

/**
 * Simulated annealing over schedules: the cost plus a price for memory over the budget. Rounds of growing length begin with the best
 * schedule so far. While nothing meets the budget, rounds aim halfway between the smallest peak met and the budget.
 *
 * What is found depends on the graph, the options and the number of iterations only.
 * @internal
 */
export class ScheduleSearch {
  /** The cheapest sequence within the budget so far. */
  best: Int32Array | undefined;
  bestCost: number = Number.POSITIVE_INFINITY;
  /** The sequence with the smallest peak met so far, where none is within the budget. */
  closest: Int32Array;
  closestPeakBytes: number;
  iterations = 0;

  private readonly budgetBytes: number;
  private readonly schedule: Schedule;
  private readonly moves: Moves;
  private readonly random: Random;
  private readonly isFree: boolean;
  private readonly isExact: boolean;
  /** Overflow up to which a schedule may be within the budget: rounding, where bytes are no whole numbers. */
  private readonly tolerance: number;
  private readonly start: Int32Array;
  private readonly meanCost: number;
  private readonly pricePerByte: number;
  private readonly longest: number;
  private price: number;
  private round: Round = warm;
  private roundIndex = -1;
  private roundLength = 0;
  private roundIteration = 0;
  private infeasibleSteps = 0;
  private closestOverflow = Number.POSITIVE_INFINITY;

  constructor(graph: PlanningGraph, options: SearchOptions) {
    const { nodeCount, valueCount } = graph;
    this.budgetBytes = options.budgetBytes;
    this.isFree = options.isFree;
    this.start = Int32Array.from({ length: nodeCount }, (_, v) => v);
    this.schedule = new Schedule(graph, options.budgetBytes, this.start);
    this.random = new Random(options.seed);
    this.moves = new Moves(this.schedule, this.random, options.isFree);
    this.isExact = [graph.bytes, graph.workspaceBytes, [graph.baseBytes]].every((sizes) =>
      sizes.every((size) => Number.isInteger(size)),
    );
    this.tolerance = this.isExact ? 0 : 1e-9 * options.budgetBytes;
    const sum = (numbers: Float64Array) => numbers.reduce((total, x) => total + x, 0);
    this.meanCost = sum(graph.cost) / Math.max(1, nodeCount) || 1;
    this.pricePerByte = this.meanCost / (sum(graph.bytes) / Math.max(1, valueCount) || 1);
    this.price = this.pricePerByte;
    this.longest = 3 * nodeCount + 100;
    this.closest = this.start;
    this.closestPeakBytes = this.schedule.peakBytes;
    this.note();
    for (const start of options.starts ?? []) {
      this.schedule.load(start);
      this.note();
      this.noteClosest(start);
    }
  }

  /** Goes on for `count` iterations. */
  run(count: number): void {
    const { schedule, random } = this;
    for (let left = count; left > 0; left--) {
      if (this.roundIteration === this.roundLength) this.beginRound();
      const { from, to, price } = this.round;
      const temperature = this.meanCost * from * (to / from) ** (this.roundIteration / this.roundLength);
      const { cost, overflow } = schedule;
      schedule.mark();
      if (this.change(overflow > 0)) {
        const delta = schedule.cost - cost + this.price * (schedule.overflow - overflow);
        const isAccepted =
          schedule.length <= this.longest && (delta <= 0 || random.next() < Math.exp(-delta / temperature));
        if (isAccepted) this.note();
        else schedule.undo();
      }
      if (schedule.overflow > 0) this.infeasibleSteps++;
      if (++this.roundIteration % 100 === 0) {
        if (price === undefined) this.adaptPrice();
        this.infeasibleSteps = 0;
      }
    }
    this.iterations += count;
  }

  private change(isOver: boolean): boolean {
    const { moves, isFree } = this;
    const choice = this.random.next();
    if (!isOver) return choice < 0.5 ? moves.takeOut() : moves.shift();
    // Moving what is there pays off most where nearly everything may be moved.
    const relocations = isFree ? 0.3 : 0.15;
    if (choice < 0.4) return moves.drop();
    if (choice < 0.4 + relocations) return moves.relocate();
    return choice < 0.6 + relocations ? moves.takeOut() : moves.shift();
  }

  private adaptPrice(): void {
    const factor = this.infeasibleSteps > 50 ? 1.1 : 1 / 1.1;
    this.price = Math.min(100 * this.pricePerByte, Math.max(0.01 * this.pricePerByte, this.price * factor));
  }

  private beginRound(): void {
    const { schedule } = this;
    if (this.roundIndex >= 0) this.noteClosest(undefined);
    const index = ++this.roundIndex;
    const nodes = this.start.length;
    this.roundLength = Math.ceil(Math.max(3000, 40 * nodes) * 1.2 ** Math.min(index, 20));
    this.roundIteration = 0;
    this.closestOverflow = Number.POSITIVE_INFINITY;
    const far = nodes <= hotGraphNodes ? hot : warmer;
    if (this.best !== undefined) {
      this.round = [warm, far, cool, warmer][index % 4];
      schedule.load(this.round.restarts ? this.start : this.best, this.budgetBytes);
    } else {
      this.round = index % 3 === 2 ? far : warm;
      // The first two rounds go for the budget itself; later ones come down in steps.
      const over = this.closestPeakBytes - this.budgetBytes;
      const aim = index < 2 || over < 0.002 * this.budgetBytes ? this.budgetBytes : this.budgetBytes + over / 2;
      schedule.load(this.round.restarts ? this.start : this.closest, aim);
    }
    this.price = this.pricePerByte * (this.round.price ?? this.price / this.pricePerByte);
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
  }

  private keep(): void {
    // Sums of bytes that are no whole numbers are off by their rounding.
    if (!this.isExact && simulateSchedule(this.schedule.graph, this.schedule.sequence())!.peakBytes > this.budgetBytes)
      return;
    this.bestCost = this.schedule.cost;
    this.best = this.schedule.sequence();
  }

  private noteClosest(sequence: ArrayLike<number> | undefined): void {
    const peakBytes = this.schedule.peakBytes;
    if (peakBytes >= this.closestPeakBytes) return;
    this.closestPeakBytes = peakBytes;
    this.closest = sequence === undefined ? this.schedule.sequence() : Int32Array.from(sequence);
  }
}
