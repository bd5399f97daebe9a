import { holdSequence } from "@remat/memory/sequence";
import { ScheduleSearch } from "../schedule/schedule-search.js";
import type { SegmentGraph } from "./segment-graph.js";

/** One way to run a segment. @internal */
export interface SegmentPlan {
  readonly sequence: Int32Array;
  readonly cost: number;
  /** Bytes in use from the segment's forward pass to its backward pass. */
  readonly restBytes: number;
  /** Peak memory of its forward pass and of its backward pass, in bytes. */
  readonly forwardBytes: number;
  readonly backwardBytes: number;
}

/** Number of steps from keeping everything to keeping nothing. */
const levels = 16;
/** Approximate number of searches to find the plans of one segment. @internal */
export const searchesPerSegment = 35;
/** Limits of a segment's own peak, as fractions of the peak of running everything once. */
const peaks = [1, 0.8, 0.64, 0.5];

/**
 * Yields plans for a segment, one at a time. The first plan runs everything once. The others cost more, and either keep
 * less memory between the passes or use less while they run. Each search starts from the previous plan. @internal
 */
export function* segmentPlans(
  segment: SegmentGraph,
  { iterations, seed }: { readonly iterations: number; readonly seed: number },
): Generator<SegmentPlan, void> {
  const { graph, rest } = segment;
  const plain = planOf(
    segment,
    Int32Array.from({ length: graph.nodeCount }, (_, v) => v),
  );
  yield plain;
  const plainBytes = Math.max(plain.restBytes, plain.forwardBytes, plain.backwardBytes);
  const workspaceBytes = Float64Array.from(graph.workspaceBytes);
  for (const peak of peaks) {
    const budgetBytes = Math.floor(peak * plainBytes);
    let start = plain;
    let target = peak === 1 ? plain.restBytes - plainBytes / levels : Math.min(budgetBytes, plain.restBytes);
    for (let isLast = false; !isLast; ) {
      isLast = target <= 0;
      target = isLast ? 0 : Math.floor(target);
      // A large workspace of the node `rest` forces the search to keep at most `target` bytes in between.
      workspaceBytes[rest] = budgetBytes - target;
      const search = new ScheduleSearch(
        { ...graph, workspaceBytes },
        { budgetBytes, seed, isFree: false, starts: [start.sequence] },
      );
      search.run(iterations);
      if (search.best === undefined) break;
      start = planOf(segment, search.best);
      yield start;
      target = start.restBytes - plain.restBytes / levels;
    }
  }
}

/** Returns a sequence with its cost and memory. @internal */
export function planOf({ graph, rest }: SegmentGraph, sequence: Int32Array): SegmentPlan {
  const { heldBytes: memory } = holdSequence(graph, sequence)!;
  let [cost, restBytes, forwardBytes, backwardBytes] = [0, 0, 0, 0];
  let isBackward = false;
  for (const [step, v] of sequence.entries()) {
    cost += graph.cost[v];
    if (v === rest) {
      restBytes = memory[step];
      isBackward = true;
    } else if (isBackward) backwardBytes = Math.max(backwardBytes, memory[step]);
    else forwardBytes = Math.max(forwardBytes, memory[step]);
  }
  return { sequence, cost, restBytes, forwardBytes, backwardBytes };
}

/** Removes plans that are no better than another plan in any respect. @internal */
export function undominated(plans: readonly SegmentPlan[]): SegmentPlan[] {
  const better = (a: SegmentPlan, b: SegmentPlan) =>
    a.cost <= b.cost &&
    a.restBytes <= b.restBytes &&
    a.forwardBytes <= b.forwardBytes &&
    a.backwardBytes <= b.backwardBytes;
  return plans.filter(
    (plan, i) =>
      i === 0 || !plans.some((other, j) => j !== i && better(other, plan) && (j < i || !better(plan, other))),
  );
}
