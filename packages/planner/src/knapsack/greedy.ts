import type { WholeKnapsack } from "./whole-knapsack.js";

/** A choice of places with its profit, and an upper bound on any profit, in the whole numbers of the knapsack. */
export interface Choice {
  /** For each place, 1 if it is saved. */
  readonly chosen: Uint8Array;
  readonly profit: number;
  readonly bound: number;
}

/**
 * Saves items by descending runtime per memory as long as they fit, or the one item with the highest profit if that is
 * better. The result is at least half of the optimum. The bound is Dantzig's: the profit if the first item that does
 * not fit could be split.
 */
export function chooseGreedily({ weight, profit, capacity }: WholeKnapsack): Choice {
  const count = weight.length;
  const chosen = new Uint8Array(count);
  let room = capacity;
  let total = 0;
  let bound = -1;
  let largest = 0;
  for (let i = 0; i < count; i++) {
    if (profit[i] > profit[largest]) largest = i;
    if (weight[i] <= room) {
      chosen[i] = 1;
      room -= weight[i];
      total += profit[i];
    } else if (bound < 0) bound = total + Math.ceil((room * profit[i]) / weight[i]);
  }
  if (bound < 0) bound = total;
  if (count > 0 && profit[largest] > total) {
    chosen.fill(0);
    chosen[largest] = 1;
    total = profit[largest];
  }
  return { chosen, profit: total, bound: Math.max(bound, total) };
}
