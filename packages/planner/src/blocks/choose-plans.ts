import type { SegmentPlan } from "./segment-plans.js";

/**
 * A segment within the step: its plans, and the memory used by the rest of the step while the segment runs. @internal
 */
export interface SegmentChoice {
  readonly plans: readonly SegmentPlan[];
  /**
   * Bytes used by everything else during the segment's forward and backward pass, if every other segment follows its
   * first plan.
   */
  readonly besideForward: number;
  readonly besideBackward: number;
}

/**
 * Maximum number of partial choices that are kept. They range from choices that save more bytes to choices that cost
 * less.
 */
const mostStates = 500;

/**
 * Chooses one plan for each segment, with the lowest total cost, so that memory stays within the budget. The memory
 * that earlier segments save between their passes is available during the passes of a segment. If nothing is within the
 * budget, the choice comes close to it. Uses dynamic programming over the segments, which is exact except for the limit
 * on partial choices.
 *
 * @param restBytes the memory used between the last segment's passes if every segment follows its first plan
 * @internal
 */
export function choosePlans(segments: readonly SegmentChoice[], restBytes: number, budgetBytes: number): number[] {
  /** For each segment, the partial choices up to it: the previous partial choice of each, and its last plan. */
  const history: { readonly from: Int32Array; readonly plan: Int32Array }[] = [];
  let saved: Float64Array = new Float64Array(1);
  let costs: Float64Array = new Float64Array(1);
  for (const { plans, besideForward, besideBackward } of segments) {
    const count = saved.length * plans.length;
    const over = new Float64Array(count);
    const nextSaved = new Float64Array(count);
    const nextCost = new Float64Array(count);
    let least = Number.POSITIVE_INFINITY;
    for (const [p, plan] of plans.entries()) {
      const held = Math.max(besideForward + plan.forwardBytes, besideBackward + plan.backwardBytes) - budgetBytes;
      for (let s = 0; s < saved.length; s++) {
        const i = s * plans.length + p;
        over[i] = Math.max(0, held - saved[s]);
        least = Math.min(least, over[i]);
        nextSaved[i] = saved[s] + plans[0].restBytes - plan.restBytes;
        nextCost[i] = costs[s] + plan.cost - plans[0].cost;
      }
    }
    const states = kept(
      Int32Array.from({ length: count }, (_, i) => i).filter((i) => over[i] <= least),
      nextSaved,
      nextCost,
    );
    history.push({
      from: states.map((i) => Math.floor(i / plans.length)),
      plan: states.map((i) => i % plans.length),
    });
    saved = Float64Array.from(states, (i) => nextSaved[i]);
    costs = Float64Array.from(states, (i) => nextCost[i]);
  }
  // States are sorted by decreasing bytes saved and decreasing cost.
  let state = saved.length - 1;
  while (state > 0 && restBytes - saved[state] > budgetBytes) state--;
  const choice: number[] = [];
  for (const { from, plan } of history.reverse()) {
    choice.push(plan[state]);
    state = from[state];
  }
  return choice.reverse();
}

/**
 * Returns the states that no other state beats in both bytes and cost, by decreasing bytes. If there are too many, the
 * range of bytes is divided and the cheapest state of each part is kept.
 */
function kept(states: Int32Array, saved: Float64Array, costs: Float64Array): Int32Array {
  states.sort((a, b) => saved[b] - saved[a] || costs[a] - costs[b]);
  let cheapest = Number.POSITIVE_INFINITY;
  const best = states.filter((i) => {
    const isCheaper = costs[i] < cheapest;
    if (isCheaper) cheapest = costs[i];
    return isCheaper;
  });
  if (best.length <= mostStates) return best;
  const most = saved[best[0]];
  const range = (most - saved[best[best.length - 1]]) / mostStates;
  const rangeOf = (i: number) => Math.floor((most - saved[i]) / range);
  // The last state of each range is its cheapest. The first of all saves the most.
  return best.filter((i, k) => k === 0 || k === best.length - 1 || rangeOf(i) !== rangeOf(best[k + 1]));
}
