import { Front, History } from "./front.js";
import { type Choice, chooseGreedily } from "./greedy.js";
import type { WholeKnapsack } from "./whole-knapsack.js";

/** The maximum number of states kept at a time, and the lower maximum after `work` states were examined. */
export interface CoreLimits {
  readonly front: number;
  readonly work: number;
  readonly frontAfterwards: number;
}

/** With these limits, a search takes about half a second in total. */
const fullLimits: CoreLimits = { front: 1 << 16, work: 1e7, frontAfterwards: 1 << 10 };
/**
 * A state that can gain at most this share of the total profit is pruned. Runtimes and sizes that are proportional
 * differ only by rounding.
 */
const toleranceShare = 2 ** -36;
/** Bounds are products of doubles, with errors of fewer units than this. */
const roundingUnits = 8;

/**
 * Finds the optimum by dynamic programming over Pareto-optimal partial choices. It starts at the items where the greedy
 * choice ends and moves outwards. It drops states that are dominated, or whose bound shows that they cannot beat the
 * best choice so far. It needs no grid of sizes, and except for contrived instances it examines only a small core of
 * the items. If the states exceed their limit, the least promising are dropped, and the bound accounts for it.
 *
 * Source: D. Pisinger, "A minimal algorithm for the 0-1 knapsack problem", Operations Research 45 (1997).
 */
export function expandCore(knapsack: WholeKnapsack, limits: CoreLimits = fullLimits): Choice {
  const { weight, profit, capacity } = knapsack;
  const count = weight.length;
  const greedy = chooseGreedily(knapsack);
  let firstOut = 0;
  let weightSum = 0;
  let profitSum = 0;
  while (firstOut < count && weightSum + weight[firstOut] <= capacity) {
    weightSum += weight[firstOut];
    profitSum += profit[firstOut++];
  }
  if (firstOut === count || greedy.profit >= greedy.bound) return { ...greedy, bound: greedy.profit };

  const search = new CoreSearch(knapsack, greedy.profit, limits);
  search.start(weightSum, profitSum);
  let [lastIn, nextOut] = [firstOut - 1, firstOut];
  while (search.front.length > 0 && (lastIn >= 0 || nextOut < count)) {
    if (nextOut < count) {
      search.change(nextOut, 1, lastIn, nextOut + 1);
      nextOut++;
    }
    if (lastIn >= 0) {
      search.change(lastIn, -1, lastIn - 1, nextOut);
      lastIn--;
    }
  }
  const bound = search.prunedBound > search.best + roundingUnits ? search.prunedBound : search.best;
  if (search.bestChange === undefined) return { ...greedy, bound: Math.min(bound, greedy.bound) };
  const chosen = new Uint8Array(count).fill(1, 0, firstOut);
  search.history.replay(search.bestChange, (place) => {
    chosen[place] ^= 1;
  });
  return { chosen, profit: search.best, bound: Math.min(bound, greedy.bound) };
}

class CoreSearch {
  front: Front = new Front();
  readonly history: History = new History();
  best: number;
  /** The state of the best choice, or undefined while the greedy choice is the best. */
  bestChange: number | undefined;
  /** The highest bound among states that were pruned although they could have led to a better choice. */
  prunedBound = 0;
  private spare: Front = new Front();
  private work = 0;
  private readonly knapsack: WholeKnapsack;
  private readonly limits: CoreLimits;
  private readonly tolerance: number;

  constructor(knapsack: WholeKnapsack, best: number, limits: CoreLimits) {
    this.knapsack = knapsack;
    this.limits = limits;
    this.best = best;
    this.tolerance = knapsack.profit.reduce((sum, one) => sum + one, 0) * toleranceShare;
  }

  start(weight: number, profit: number): void {
    this.front.push(weight, profit, profit, -1);
    if (profit > this.best) {
      this.best = profit;
      this.bestChange = -1;
    }
  }

  /**
   * Merges the states with their copies after saving `place` (`sign` 1) or freeing it (-1). Places from `nextOut` on
   * can still be saved, and those up to `lastIn` can still be freed.
   */
  change(place: number, sign: 1 | -1, lastIn: number, nextOut: number): void {
    const { weight, profit, capacity } = this.knapsack;
    const { front: from, spare: into, history, tolerance } = this;
    const gainRatio = nextOut < weight.length ? profit[nextOut] / weight[nextOut] : 0;
    const lossRatio = lastIn >= 0 ? profit[lastIn] / weight[lastIn] : Number.POSITIVE_INFINITY;
    const weightStep = sign * weight[place];
    const profitStep = sign * profit[place];
    into.length = 0;
    let lastProfit = -1;
    let kept = 0;
    let changed = 0;
    while (kept < from.length || changed < from.length) {
      // For equal weights the state with the higher profit comes first, so that the other one is dominated.
      const keptWeight = kept < from.length ? from.weight[kept] : Number.POSITIVE_INFINITY;
      const changedWeight = changed < from.length ? from.weight[changed] + weightStep : Number.POSITIVE_INFINITY;
      const isKept =
        keptWeight < changedWeight ||
        (keptWeight === changedWeight && from.profit[kept] >= from.profit[changed] + profitStep);
      const at = isKept ? kept++ : changed++;
      const stateWeight = isKept ? keptWeight : changedWeight;
      const stateProfit = isKept ? from.profit[at] : from.profit[at] + profitStep;
      if (stateProfit <= lastProfit) continue;
      const room = capacity - stateWeight;
      const bound = stateProfit + (room >= 0 ? room * gainRatio : room * lossRatio);
      const isBetter = room >= 0 && stateProfit > this.best;
      if (!isBetter && bound <= this.best + tolerance) {
        if (bound > this.best) this.prunedBound = Math.max(this.prunedBound, bound);
        continue;
      }
      const change = isKept ? from.change[at] : history.add(from.change[at], place);
      if (isBetter) {
        this.best = stateProfit;
        this.bestChange = change;
      }
      lastProfit = stateProfit;
      into.push(stateWeight, stateProfit, bound, change);
    }
    this.work += from.length * 2;
    this.front = into;
    this.spare = from;
    const limit = this.work < this.limits.work ? this.limits.front : this.limits.frontAfterwards;
    this.prunedBound = Math.max(this.prunedBound, into.shrink(limit));
  }
}
