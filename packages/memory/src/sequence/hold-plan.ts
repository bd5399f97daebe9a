import {
  Category,
  type CategoryName,
  categoryNames,
  type OpIndex,
  opEventPositions,
  type Plan,
  RematError,
  type Trace,
} from "@remat/trace";
import { readMemoryEvents } from "../held/memory-events.js";
import { LifeSums, nodeAt } from "./hold-sequence.js";
import { type Life, livesOfPlan } from "./lives-of-plan.js";
import { type OffloadedStorage, offloadedStorages } from "./offloaded-storages.js";
import { isPureForward, sequenceGraphOfTrace, type TraceSequenceGraph } from "./sequence-graph-of-trace.js";
import { type PlanSequence, sequenceOfPlan } from "./sequence-of-plan.js";

/** Memory of a step that follows a plan, on the device of its trace. */
export interface PlanMemory {
  readonly peakBytes: number;
  /** The op that runs at the peak, or -1 if only permanent memory is ever in use. */
  readonly peakOp: number;
  /** Memory at the peak, for categories that are not empty. Scratch memory of a kernel is temporary. */
  readonly bytesByCategory: Readonly<Partial<Record<CategoryName, number>>>;
  /** For each op, the highest memory in use from the previous op to this one, including recomputation in between. */
  readonly highestBytes: Float64Array;
  /** The recomputed storages, in the order of recomputation. */
  readonly recomputed: readonly RecomputedStorage[];
  /** The offloaded storages, in order. */
  readonly offloaded: readonly OffloadedStorage[];
}

/** A storage that a plan recomputes. */
export interface RecomputedStorage {
  readonly storage: number;
  /** Size in bytes, rounded up to the allocation unit. */
  readonly bytes: number;
  /** The op that makes it, and the step of the plan at which it is recomputed. */
  readonly op: number;
  readonly step: number;
  /** The step of the plan after which it was freed. */
  readonly freedAfterStep: number;
}

/**
 * Returns the memory of a step that follows `plan`. Storages are allocated when ops create them, also in recomputation,
 * and freed when the plan frees them. Storages that the plan does not name are freed when the engine frees them.
 *
 * @param plan a plan for this trace: see `findPlanMismatch`
 * @param graph the sequence graph in which the plan was found, if it is known
 * @throws RematError `PLAN_MISMATCH` if its steps cannot run
 * @example
 * holdPlan(trace, plan).peakBytes; // plan.predicted.peakBytes
 */
export function holdPlan(trace: Trace, plan: Plan, graph: TraceSequenceGraph = graphFor(trace, plan)): PlanMemory {
  const sequence = sequenceOfPlan(plan, graph);
  const lives = livesOfPlan(plan, graph, sequence);
  if (lives === undefined)
    throw new RematError(
      "PLAN_MISMATCH",
      "the plan cannot run: an op reads a tensor that no earlier op computes. Plan this trace again, or name the run that was planned.",
    );
  const sums = new LifeSums(graph, sequence.nodes.length);
  for (const { value, from, to } of lives) sums.add(value, from, to);
  const { peakBytes, peakStep, heldBytes } = sums.memory(sequence.nodes);
  const isAtRest = peakBytes === graph.baseBytes;
  return {
    peakBytes,
    peakOp: isAtRest ? -1 : opAt(graph, sequence, peakStep),
    bytesByCategory: categoriesAt(graph, sequence, lives, isAtRest ? -1 : peakStep),
    highestBytes: highestByOp(trace, plan, graph, sequence, heldBytes),
    recomputed: recomputedStorages(graph, sequence, lives),
    offloaded: offloadedStorages(graph, plan),
  };
}

/** Builds the graph. The ops that the plan recomputes count as recomputable. */
function graphFor(trace: Trace, plan: Plan): TraceSequenceGraph {
  const again = new Set(plan.steps.filter(({ isRecomputed }) => isRecomputed).map(({ op }) => op));
  return sequenceGraphOfTrace(trace, { isReplayable: (op) => again.has(op) || isPureForward(trace, op) });
}

/** Returns the op that runs at a place. If JavaScript creates a storage there, returns the next op. */
function opAt({ opOfNode }: TraceSequenceGraph, { nodes }: PlanSequence, place: number): number {
  let at = place;
  while (at < nodes.length - 1 && opOfNode[nodeAt(nodes, at)] < 0) at++;
  return opOfNode[nodeAt(nodes, at)];
}

/** Returns the live bytes by category at a place of the sequence. Place -1 has permanent memory only. */
function categoriesAt(
  graph: TraceSequenceGraph,
  { nodes }: PlanSequence,
  lives: readonly Life[],
  place: number,
): Partial<Record<CategoryName, number>> {
  const { trace, opOfNode, storageOfValue, bytes, baseStorages, baseSizes, workspaceBytes } = graph;
  let lastOp = -1;
  for (let p = 0; p <= place; p++) lastOp = Math.max(lastOp, opOfNode[nodeAt(nodes, p)]);
  const category = categoriesAtOp(trace, lastOp);
  const held = new Float64Array(categoryNames.length);
  baseStorages.forEach((storage, i) => {
    held[category[storage]] += baseSizes[i];
  });
  if (place >= 0) {
    for (const { value, from, to } of lives)
      if (from <= place && place <= to) held[category[storageOfValue[value]]] += bytes[value];
    if (nodes[place] >= 0) held[Category.temporary] += workspaceBytes[nodes[place]];
  }
  return Object.fromEntries(categoryNames.flatMap((name, c) => (held[c] > 0 ? [[name, held[c]]] : [])));
}

/** Returns the category of each storage while `op` runs. For -1, returns the category at the allocation. */
function categoriesAtOp(trace: Trace, op: OpIndex): Uint8Array {
  const category = trace.storages.category.slice(0, trace.storages.count);
  if (op >= 0)
    readMemoryEvents(
      trace,
      { categorize: (storage, value) => (category[storage] = value) },
      0,
      opEventPositions(trace)[op],
    );
  return category;
}

function highestByOp(
  trace: Trace,
  plan: Plan,
  { baseBytes }: TraceSequenceGraph,
  { nodes, stepOfPlace }: PlanSequence,
  heldBytes: Float64Array,
): Float64Array {
  const highest = new Float64Array(trace.ops.count);
  let filled = 0;
  let most = 0;
  for (let place = 0; place < nodes.length; place++) {
    most = Math.max(most, heldBytes[place]);
    const step = stepOfPlace[place];
    if (step < 0 || plan.steps[step].isRecomputed) continue;
    while (filled <= plan.steps[step].op) highest[filled++] = most;
    most = 0;
  }
  const last = filled === 0 ? baseBytes : Math.max(highest[filled - 1], most);
  if (filled > 0) highest[filled - 1] = last;
  return highest.fill(last, filled);
}

function recomputedStorages(
  { opOfNode, storageOfValue, bytes, valueCount }: TraceSequenceGraph,
  { nodes, stepOfPlace }: PlanSequence,
  lives: readonly Life[],
): RecomputedStorage[] {
  const freedAt = new Int32Array(valueCount).fill(-1);
  const found: RecomputedStorage[] = [];
  for (const { value, from, to } of [...lives].sort((a, b) => a.from - b.from)) {
    if (freedAt[value] >= 0 && nodes[from] >= 0)
      found.push({
        storage: storageOfValue[value],
        bytes: bytes[value],
        op: opOfNode[nodes[from]],
        step: stepOfPlace[from],
        freedAfterStep: stepOfPlace[freedAt[value]],
      });
    freedAt[value] = to;
  }
  return found;
}
