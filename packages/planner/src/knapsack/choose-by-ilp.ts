import { type MixedIntegerRow, solveMixedInteger } from "../solve-mixed-integer.js";
import { type CoreLimits, expandCore } from "./expand-core.js";
import { type Choice, chooseGreedily } from "./greedy.js";
import type { WholeKnapsack } from "./whole-knapsack.js";

/** The solver's tolerances are absolute, so the capacity and the total profit are scaled to these values. */
const capacityShare = 1e3;
const profitShare = 1e3;
/**
 * Maximum number of excluded choices. The solver accepts a choice that exceeds the budget by its tolerance. Each such choice is then excluded.
 */
const mostCuts = 50;
/** Bounds are products of doubles, with errors of fewer units than this. */
const roundingUnits = 8;

/** Limits for the dynamic program that finds a starting choice with a few states. Only the solver proves optimality. */
const startLimits: CoreLimits = { front: 256, work: 1e6, frontAfterwards: 16 };

/**
 * Solves the knapsack as an integer program with HiGHS. The program leaves out items if every choice that is better
 * than the starting one contains them, or if none does. Choices are checked in whole numbers. If the solver ends
 * without an answer, the starting choice is returned with the solver's bound.
 */
export async function chooseByIlp(knapsack: WholeKnapsack, timeLimitS: number): Promise<Choice> {
  const { weight, profit } = knapsack;
  const greedy = chooseGreedily(knapsack);
  if (greedy.profit >= greedy.bound) return greedy;
  const start = expandCore(knapsack, startLimits);
  const { open, isIn, capacity, basis } = fixItems(knapsack, start);
  if (open.length === 0) return { ...start, bound: start.profit };
  const profitUnit = greedy.bound / profitShare;
  const capacityUnit = Math.max(capacity, 1) / capacityShare;
  const columns = open.map((_, column) => column);
  const size: MixedIntegerRow = {
    columns,
    values: open.map((i) => weight[i] / capacityUnit),
    atMost: capacity / capacityUnit,
  };
  const cost = open.map((i) => -profit[i] / profitUnit);
  const ones = new Uint8Array(open.length).fill(1);
  const rows = [size];
  const until = performance.now() + timeLimitS * 1000;
  let bound = greedy.bound;
  while (rows.length <= mostCuts) {
    const remainingS = (until - performance.now()) / 1000;
    if (remainingS <= 0) break;
    const solution = await solveMixedInteger(
      { cost, upper: ones, isWhole: ones, rows },
      { relativeGap: 0, timeLimitS: remainingS },
    );
    bound = Math.max(start.profit, Math.min(bound, basis + Math.ceil(-solution.lowerBound * profitUnit)));
    if (solution.values === undefined) break;
    const chosen = isIn.slice();
    for (const [column, i] of open.entries()) chosen[i] = Math.round(solution.values[column]);
    let [weightSum, profitSum] = totals(knapsack, chosen);
    if (weightSum > knapsack.capacity) {
      const over = columns.filter((column) => chosen[open[column]] === 1);
      rows.push({ columns: over, values: over.map(() => 1), atMost: over.length - 1 });
      continue;
    }
    // Items that still fit cost nothing to save. The solver may leave them out because of its tolerance.
    for (let i = 0; i < chosen.length; i++) {
      if (chosen[i] === 1 || weightSum + weight[i] > knapsack.capacity) continue;
      chosen[i] = 1;
      weightSum += weight[i];
      profitSum += profit[i];
    }
    if (profitSum < start.profit) break;
    return { chosen, profit: profitSum, bound: Math.max(profitSum, bound) };
  }
  return { ...start, bound };
}

/** The items that are still open, and the certain ones. */
interface OpenItems {
  readonly open: readonly number[];
  /** For each place, 1 if it is certainly in. */
  readonly isIn: Uint8Array;
  /** The remaining budget after the certain items, and their total profit. */
  readonly capacity: number;
  readonly basis: number;
}

/**
 * Fixes items. Deviating from the order of ratios costs an item its distance from the ratio at which the budget ends
 * (Dembo and Hammer, 1980).
 */
function fixItems({ weight, profit, capacity }: WholeKnapsack, start: Choice): OpenItems {
  let [room, linear, end] = [capacity, 0, 0];
  while (weight[end] <= room) {
    room -= weight[end];
    linear += profit[end++];
  }
  const ratio = profit[end] / weight[end];
  linear += room * ratio;
  const open: number[] = [];
  const isIn = new Uint8Array(weight.length);
  let [left, basis] = [capacity, 0];
  for (let i = 0; i < weight.length; i++) {
    const loss = Math.abs(profit[i] - weight[i] * ratio);
    if (linear - loss > start.profit - roundingUnits) open.push(i);
    else if (i < end) {
      isIn[i] = 1;
      left -= weight[i];
      basis += profit[i];
    }
  }
  return { open, isIn, capacity: left, basis };
}

function totals({ weight, profit }: WholeKnapsack, chosen: Uint8Array): [weight: number, profit: number] {
  let weightSum = 0;
  let profitSum = 0;
  for (let i = 0; i < chosen.length; i++) {
    if (chosen[i] === 0) continue;
    weightSum += weight[i];
    profitSum += profit[i];
  }
  return [weightSum, profitSum];
}
