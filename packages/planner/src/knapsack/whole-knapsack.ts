import type { Knapsack } from "./knapsack.js";

/**
 * A knapsack in whole numbers, so that sums are exact and independent of their order. It leaves out items without
 * memory, which are always saved, and items that have no profit or are larger than the budget, which are never saved.
 */
export interface WholeKnapsack {
  /** The item at each place. Places are sorted by descending runtime per memory, equal ones by item. */
  readonly items: Int32Array;
  /** Memory and profit at each place. */
  readonly weight: Float64Array;
  readonly profit: Float64Array;
  readonly capacity: number;
  /** Items without memory, ascending. */
  readonly free: readonly number[];
  /** The runtime that one unit of `profit` stands for. */
  readonly profitUnit: number;
}

/** Sums of whole numbers are exact below 2 to this power. */
const exactBits = 52;

/**
 * Rounds sizes. Whole numbers stay exact, in units of their greatest common divisor. Other sizes are rounded up to a
 * grid of 2^-52 of their sum, and the budget gets one more unit of the grid per item. A sum of doubles can be wrong by
 * that much, and ten times 0.1 must fit into 1.
 */
export function wholeKnapsack({ memory, runtime, budget }: Knapsack): WholeKnapsack {
  const free: number[] = [];
  const chosen: number[] = [];
  for (let i = 0; i < memory.length; i++) {
    if (memory[i] === 0) free.push(i);
    else if (memory[i] <= budget && runtime[i] > 0) chosen.push(i);
  }
  const ratio = chosen.map((i) => runtime[i] / memory[i]);
  const order = chosen
    .map((_, at) => at)
    .sort((a, b) => (ratio[a] === ratio[b] ? a - b : ratio[b] > ratio[a] ? 1 : -1));
  const items = Int32Array.from(order, (at) => chosen[at]);
  const count = items.length;

  let memorySum = 0;
  let runtimeSum = 0;
  let areWhole = true;
  for (const i of items) {
    memorySum += memory[i];
    runtimeSum += runtime[i];
    areWhole &&= Number.isInteger(memory[i]);
  }
  areWhole &&= memorySum < 2 ** exactBits;
  // Bytes are multiples of the allocation unit. With that as the unit, a budget between two multiples is recognized as
  // full.
  const unit = areWhole ? items.reduce((unit, i) => commonDivisor(memory[i], unit), 0) || 1 : gridUnit(memorySum);
  const profitUnit = gridUnit(runtimeSum);
  return {
    items,
    weight: Float64Array.from(items, (i) => Math.ceil(memory[i] / unit)),
    profit: Float64Array.from(items, (i) => Math.round(runtime[i] / profitUnit)),
    capacity: Math.min(Math.floor(budget / unit) + (areWhole ? 0 : count), 2 ** (exactBits + 1)),
    free,
    profitUnit,
  };
}

function commonDivisor(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}

/** Returns a power of two, because division by a power of two is exact. */
function gridUnit(sum: number): number {
  return sum > 0 ? Math.max(2 ** (Math.ceil(Math.log2(sum)) - exactBits), 2 ** -1022) : 1;
}
