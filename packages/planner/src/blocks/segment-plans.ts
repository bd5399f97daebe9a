import { holdSequence } from "@remat/memory/sequence";
import { ScheduleSearch } from "../schedule/schedule-search.js";
import type { SegmentGraph } from "./segment-graph.js";

/** One way to run a segment. @internal */
export interface SegmentPlan {
  readonly sequence: Int32Array;
  readonly cost: number;
  /** Bytes held from the segment's forward pass to its backward pass. */
  readonly restBytes: number;
  /** The most bytes held in its forward, and in its backward pass. */
  readonly forwardBytes: number;
  readonly backwardBytes: number;
}

/** Steps from holding everything to holding nothing. */
const levels = 16;
/** About as many searches as it takes to find the ways of one segment. @internal */
export const searchesPerSegment = 35;
/** Limits of a segment's own peak, as fractions of what running everything once takes. */
const peaks = [1, 0.8, 0.64, 0.5];

/**
 * Ways to run a segment, one more each time: the first runs everything once; the others hold less in between, or less while they run, and cost more. Each is
 * sought with the one before as its start.
 * @internal
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
      // So much work goes on in between that no more than `target` may be held.
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

/** @internal */
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

/** Without those that another is as good as in every respect. @internal */
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
