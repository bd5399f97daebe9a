import { holdSequence } from "@remat/memory/sequence";
import { plainOrder } from "../bound/plain-order.js";
import type { PlanningGraph } from "../graph/planning-graph.js";
import { choosePlans, type SegmentChoice } from "./choose-plans.js";
import { forwardSegments, joinSegments, type Segment } from "./forward-segments.js";
import { isAlike, type SegmentGraph, segmentGraph } from "./segment-graph.js";
import { planOf, type SegmentPlan, searchesPerSegment, segmentPlans, undominated } from "./segment-plans.js";

interface PlannedSegment {
  readonly graph: SegmentGraph;
  /** True if plans for this segment are searched. If false, the plans of `alike` are tried on it. */
  readonly isSought: boolean;
  readonly alike: readonly PlannedSegment[];
  plans: readonly SegmentPlan[];
}

interface Grain {
  readonly segments: readonly SegmentGraph[];
  readonly choices: readonly SegmentChoice[];
  /**
   * The largest number of bytes in use, in the plain order, between the forward and the backward pass of the last
   * segment.
   */
  readonly restBytes: number;
}

/** The number of parts of a step, and how many of them were planned. The others repeat these. @internal */
export interface BlockStructure {
  readonly segments: number;
  readonly planned: number;
}

/** Number of segments planned among those that differ only in sizes. Their plans are tried on the others. */
const mostAlike = 3;
/** Number of changes to try per node of a segment in each search. More changes help little, and fewer are not enough. */
const iterationsPerNode = { most: 60, least: 6 };
/** How long a page may be unresponsive. */
const sliceMs = 25;

/**
 * Builds schedules of a whole step from plans of its segments. A segment is planned once for all segments that repeat
 * it. Its plans differ in the memory kept between its forward and its backward pass. For a budget, the combination with
 * the lowest total cost is chosen. These schedules are available immediately for any budget, and a search starts from
 * them. @internal
 */
export class BlockPlans {
  readonly graph: PlanningGraph;
  readonly structure: BlockStructure[] = [];
  private readonly grains: Grain[] = [];
  private readonly memory: Float64Array;
  private readonly lastUse: Int32Array;
  private readonly seed: number;
  private readonly waiting: Segment[][] = [];

  constructor(graph: PlanningGraph, seed: number) {
    this.graph = graph;
    this.seed = seed;
    const { memory, lastUse } = plainOrder(graph);
    this.memory = memory;
    this.lastUse = lastUse;
    const finest = forwardSegments(graph);
    for (let size = 1; finest.length / size >= 2; size *= 2) this.waiting.push(joinSegments(finest, size));
  }

  /**
   * Plans the segments at ever coarser grains, at which consecutive segments are joined.
   *
   * @param iterations about how many changes to try in total; each grain gets as many as all coarser ones together, and
   * segments that would get too few are left out
   * @param deadline the time (of `performance.now()`) when planning stops
   */
  async prepare(iterations: number, signal?: AbortSignal, deadline: number = Number.POSITIVE_INFINITY): Promise<void> {
    let left = iterations;
    const isOver = () => signal?.aborted === true || performance.now() > deadline;
    while (this.waiting.length > 0 && !isOver())
      left -= await this.refine(this.waiting.length > 1 ? left / 2 : left, isOver);
  }

  private async refine(iterations: number, isOver: () => boolean): Promise<number> {
    const segments = this.waiting.shift();
    if (segments === undefined) return 0;
    const graphs = segments.map((segment) => segmentGraph(this.graph, segment, this.lastUse));
    const planned: PlannedSegment[] = [];
    const of = (graph: SegmentGraph) => planned.find((known) => isAlike(known.graph, graph, "sizes"));
    for (const graph of graphs) {
      if (of(graph) !== undefined) continue;
      const alike = planned.filter((known) => known.isSought && isAlike(known.graph, graph, "shape"));
      planned.push({ graph, isSought: alike.length < mostAlike, alike, plans: [] });
    }
    const sought = planned.filter(({ isSought }) => isSought);
    const nodes = sought.reduce((sum, { graph }) => sum + graph.graph.nodeCount, 0);
    const perNode = Math.min(iterationsPerNode.most, iterations / nodes / searchesPerSegment);
    if (perNode < iterationsPerNode.least) return 0;
    let lastPause = performance.now();
    for (const segment of planned) {
      if (isOver()) return 0;
      const plans: SegmentPlan[] = [];
      if (segment.isSought) {
        const effort = { iterations: Math.ceil(perNode * segment.graph.graph.nodeCount), seed: this.seed };
        for (const plan of segmentPlans(segment.graph, effort)) {
          plans.push(plan);
          if (performance.now() - lastPause < sliceMs) continue;
          await new Promise((resolve) => setTimeout(resolve));
          lastPause = performance.now();
        }
      } else
        for (const alike of segment.alike)
          for (const { sequence } of alike.plans) plans.push(planOf(segment.graph, sequence));
      segment.plans = undominated(plans);
    }
    const choices = graphs.map((graph): SegmentChoice => ({ plans: of(graph)!.plans, ...this.beside(graph) }));
    const { to, backwardFrom } = segments[segments.length - 1];
    this.grains.push({
      segments: graphs,
      choices,
      restBytes: this.memory.subarray(to, backwardFrom).reduce((most, bytes) => Math.max(most, bytes), 0),
    });
    this.structure.push({ segments: graphs.length, planned: sought.length });
    return perNode * nodes * searchesPerSegment;
  }

  /** For each planned grain, returns a schedule with a peak of about `budgetBytes`. */
  startsFor(budgetBytes: number): Int32Array[] {
    return this.grains.map(({ segments, choices, restBytes }) => {
      const choice = choosePlans(choices, restBytes, budgetBytes);
      return this.compose(choice.map((p, s) => ({ segment: segments[s], plan: choices[s].plans[p] })));
    });
  }

  /**
   * Returns the memory that the rest of the step uses while a segment's passes run, with everything in the plain order.
   */
  private beside({ graph, rest, nodeOf }: SegmentGraph): Pick<SegmentChoice, "besideForward" | "besideBackward"> {
    const { heldBytes: own } = holdSequence(
      graph,
      nodeOf.map((_, v) => v),
    )!;
    let [besideForward, besideBackward] = [0, 0];
    for (const [v, node] of nodeOf.entries()) {
      if (node < 0) continue;
      if (v < rest) besideForward = Math.max(besideForward, this.memory[node] - own[v]);
      else besideBackward = Math.max(besideBackward, this.memory[node] - own[v]);
    }
    return { besideForward, besideBackward };
  }

  private compose(choice: readonly { readonly segment: SegmentGraph; readonly plan: SegmentPlan }[]): Int32Array {
    /** For each node, the nodes that are recomputed right before it. */
    const again = new Map<number, number[]>();
    let length = this.graph.nodeCount;
    for (const { segment, plan } of choice) {
      const { nodeOf, rest } = segment;
      const isRun = new Uint8Array(nodeOf.length);
      let pending: number[] = [];
      for (const v of plan.sequence) {
        if (isRun[v] === 1) pending.push(nodeOf[v]);
        else if (pending.length > 0) {
          // Recomputation before the rest of the step comes right after the segment's forward pass.
          const before = v === rest ? nodeOf[rest - 1] + 1 : nodeOf[v];
          again.set(before, pending);
          length += pending.length;
          pending = [];
        }
        isRun[v] = 1;
      }
    }
    const whole = new Int32Array(length);
    let at = 0;
    for (let v = 0; v < this.graph.nodeCount; v++) {
      for (const u of again.get(v) ?? []) whole[at++] = u;
      whole[at++] = v;
    }
    return whole;
  }
}
