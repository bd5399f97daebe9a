import { chooseByIlp } from "./choose-by-ilp.js";
import { expandCore } from "./expand-core.js";
import { type Choice, chooseGreedily } from "./greedy.js";
import { checkKnapsack, type Knapsack, type KnapsackSolution } from "./knapsack.js";
import { type WholeKnapsack, wholeKnapsack } from "./whole-knapsack.js";

/** Bounds and sums of doubles that differ by no more than this share count as equal. */
const rounding = 1e-12;

/**
 * Chooses the items to save within a budget so that recomputation takes the least time: the 0-1 knapsack of PyTorch's
 * min-cut partitioner.
 *
 * - `"dp"`, dynamic programming: the optimum, up to 2^-36 of the total runtime. Sizes need not be whole numbers. On
 *   contrived hard instances it stops at a limit of states, and `gap` bounds the distance from the optimum.
 * - `"ilp"`: the optimum by HiGHS, which is loaded when first used.
 * - `"greedy"`: saves items by descending runtime per memory, or only the single best item. The result is at least half
 *   of the optimum, and usually within one percent of it.
 *
 * The saved items never exceed the budget. Sums of whole-number sizes are exact, and other sums are exact up to 2^-52
 * of the sum per item. (PyTorch rounds sizes to 1/10000 and can exceed the budget.) Items without memory are saved.
 * Items with memory but without runtime are not saved.
 *
 * Source: `torch/_functorch/_activation_checkpointing/knapsack.py`.
 *
 * @throws RematError `KNAPSACK_INPUT` with the item whose size or runtime is negative or not finite, or if there are no
 * items or the budget is invalid
 * @example
 * const { saved, gap } = await solveKnapsack({ memory: [0.5, 0.3, 0.2], runtime: [5, 4, 2], budget: 0.5, method: "dp" });
 * // saved: [1, 2], gap: 0
 */
export async function solveKnapsack(knapsack: Knapsack): Promise<KnapsackSolution> {
  checkKnapsack(knapsack);
  const whole = wholeKnapsack(knapsack);
  return solutionOf(knapsack, whole, await choose(knapsack, whole));
}

async function choose({ method, timeLimitS }: Knapsack, whole: WholeKnapsack): Promise<Choice> {
  if (method === "greedy") return chooseGreedily(whole);
  if (method === "ilp") return chooseByIlp(whole, timeLimitS ?? 10);
  return expandCore(whole);
}

function solutionOf(knapsack: Knapsack, whole: WholeKnapsack, choice: Choice): KnapsackSolution {
  const { memory, runtime } = knapsack;
  const isSaved = new Uint8Array(memory.length);
  for (const item of whole.free) isSaved[item] = 1;
  for (const [place, item] of whole.items.entries()) isSaved[item] = choice.chosen[place];
  const saved: number[] = [];
  const recomputed: number[] = [];
  let memorySum = 0;
  let runtimeSum = 0;
  for (let i = 0; i < isSaved.length; i++) {
    if (isSaved[i] === 0) recomputed.push(i);
    else {
      saved.push(i);
      memorySum += memory[i];
      runtimeSum += runtime[i];
    }
  }
  const more = (choice.bound - choice.profit) * whole.profitUnit;
  const bound = more > runtimeSum * rounding ? runtimeSum + more : runtimeSum;
  return {
    method: knapsack.method ?? "dp",
    saved,
    recomputed,
    runtime: runtimeSum,
    memory: memorySum,
    bound,
    gap: bound > 0 ? (bound - runtimeSum) / bound : 0,
  };
}
