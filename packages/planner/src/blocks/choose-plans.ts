import type { SegmentPlan } from "./segment-plans.js";

/** A segment among the others: what it can do, and what is held besides while it does. @internal */
export interface SegmentChoice {
  readonly plans: readonly SegmentPlan[];
  /** Bytes held by all else during its forward and its backward pass, where every other segment follows its first plan. */
  readonly besideForward: number;
  readonly besideBackward: number;
}

/** Partial choices that are kept: more bytes saved for more cost. */
const mostStates = 500;

/**
 * For each segment one of its plans, of least cost in all such that nothing is over the budget: what segments before it save between their
 * passes is free during a segment's own. `restBytes` is what is held between the last segment's passes with all first plans. Where
 * nothing is within the budget, the choice that comes near it.
 *
 * By dynamic programming over the segments, exact but for the number of partial choices that are kept.
 * @internal
 */
export function choosePlans(segments: readonly SegmentChoice[], restBytes: number, budgetBytes: number): number[] {
  /** Of every segment, the partial choices up to it: where each comes from, and its last plan. */
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
  // By falling bytes saved, and falling cost.
  let state = saved.length - 1;
  while (state > 0 && restBytes - saved[state] > budgetBytes) state--;
  const choice: number[] = [];
  for (const { from, plan } of history.reverse()) {
    choice.push(plan[state]);
    state = from[state];
  }
  return choice.reverse();
}

/** Those that no other beats in both bytes and cost, by falling bytes; of many, the cheapest of each of as many ranges of bytes. */
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
  // The last of each range is its cheapest; the first of all saves the most.
  return best.filter((i, k) => k === 0 || k === best.length - 1 || rangeOf(i) !== rangeOf(best[k + 1]));
}
