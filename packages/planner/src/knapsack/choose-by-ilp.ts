import { type MixedIntegerRow, solveMixedInteger } from "../solve-mixed-integer.js";
import { type CoreLimits, expandCore } from "./expand-core.js";
import { type Choice, chooseGreedily } from "./greedy.js";
import type { WholeKnapsack } from "./whole-knapsack.js";

/** The solver's tolerances are absolute; sizes and profits reach it as shares of these. */
const capacityShare = 1e3;
const profitShare = 1e3;
/** The solver takes a choice that is over the budget by its tolerance for feasible; each such choice is cut off, and few exist. */
const mostCuts = 50;
/** Bounds are products of doubles, off by fewer units than this. */
const roundingUnits = 8;

/** A few states of the dynamic program find a choice to start from; the solver alone proves what is optimal. */
const startLimits: CoreLimits = { front: 256, work: 1e6, frontAfterwards: 16 };

/**
 * Returns the optimum by the integer program of the knapsack, in HiGHS. Items that no choice better than the one it starts from can hold, or do
 * without, are left out of it. Choices are checked in whole numbers; where the solver ends without an answer, the start stands, with the solver's bound.
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
    // What still fits costs nothing to save; the solver may stop short of it by its tolerance.
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

/** Which items are left to choose, and what is certain of the others. */
interface OpenItems {
  readonly open: readonly number[];
  /** By place: 1 if it is certainly in. */
  readonly isIn: Uint8Array;
  /** What the certain items leave of the budget, and what they spare. */
  readonly capacity: number;
  readonly basis: number;
}

/** Going against the order of ratios costs an item its distance from the ratio at which the budget ends (Dembo and Hammer, 1980). */
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
