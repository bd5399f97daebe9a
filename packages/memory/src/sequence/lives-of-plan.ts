import { EventKind, gradientsEndMark, gradientsStartMark, type Plan, type PlanValue, row } from "@remat/trace";
import { readMemoryEvents } from "../held/memory-events.js";
import { forEachLife, nodeAt } from "./hold-sequence.js";
import { planValues } from "./plan-values.js";
import type { TraceSequenceGraph } from "./sequence-graph-of-trace.js";
import type { PlanSequence } from "./sequence-of-plan.js";

/** The life of a value, from the place in a sequence that creates it to the last place where it is alive. */
export interface Life {
  readonly value: number;
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the lives of values under a plan. A value that the plan names lives until the plan frees it, or else to the
 * end, but at most until the end of the pass in which the engine frees it. The caller's values live until their last
 * reader. Returns undefined if a step reads a value that no earlier step has made.
 */
export function livesOfPlan(
  plan: Plan,
  graph: TraceSequenceGraph,
  { nodes, placeOfStep }: PlanSequence,
): Life[] | undefined {
  const { names } = planValues(graph);
  const lives: Life[] = [];
  const canRun = forEachLife(graph, nodes, (value, from, to) => {
    if (names[value] === undefined) lives.push({ value, from, to });
  });
  if (!canRun) return undefined;
  const valueOf = new Map(names.map((name, value) => [name === undefined ? "" : keyOf(name), value]));
  const freedAt = new Map<number, number[]>();
  plan.steps.forEach(({ free, offload = [] }, step) => {
    const place = placeOfStep[step];
    const list = freedAt.get(place) ?? [];
    for (const name of [...free, ...offload]) {
      const value = valueOf.get(keyOf(name));
      if (value !== undefined) list.push(value);
    }
    freedAt.set(place, list);
  });
  const madeAt = new Int32Array(graph.valueCount).fill(-1);
  const engineFrees = placesOfFrees(plan, graph, placeOfStep);
  const end = (value: number, planned: number): void => {
    const from = madeAt[value];
    if (from < 0) return;
    const freed = engineFrees.get(graph.storageOfValue[value]) ?? planned;
    lives.push({ value, from, to: freed < from ? planned : Math.min(planned, freed) });
    madeAt[value] = -1;
  };
  for (let place = 0; place < nodes.length; place++) {
    for (const value of row(graph.outputs, nodeAt(nodes, place))) {
      if (names[value] === undefined) continue;
      end(value, place - 1);
      madeAt[value] = place;
    }
    for (const value of freedAt.get(place) ?? []) end(value, place);
  }
  for (let value = 0; value < graph.valueCount; value++) end(value, nodes.length);
  return lives;
}

/**
 * Returns, for each storage that the trace frees, the latest place where it is alive. This limit is needed because the
 * plan may be for a backend on which more tensors share a buffer. Inside a pass the executor follows the plan, and the
 * engine's frees apply when the pass is over. A trace without marks counts as one pass.
 */
function placesOfFrees(
  plan: Plan,
  { trace }: TraceSequenceGraph,
  placeOfStep: Int32Array,
): ReadonlyMap<number, number> {
  const placeOfOp = new Int32Array(trace.ops.count);
  plan.steps.forEach(({ op, isRecomputed }, step) => {
    if (!isRecomputed) placeOfOp[op] = placeOfStep[step];
  });
  const places = new Map<number, number>();
  const inPass: number[] = [];
  let isInPass = false;
  let hasPasses = false;
  let last = -1;
  readMemoryEvents(trace, {
    op: (op) => (last = op),
    free(storage) {
      if (isInPass) inPass.push(storage);
      else if (last >= 0) places.set(storage, placeOfOp[last]);
    },
    other(kind, name) {
      if (kind !== EventKind.mark) return;
      if (trace.strings[name] === gradientsStartMark) isInPass = hasPasses = true;
      if (trace.strings[name] !== gradientsEndMark) return;
      isInPass = false;
      for (const storage of inPass.splice(0)) places.set(storage, placeOfOp[last]);
    },
  });
  return hasPasses ? places : new Map();
}

function keyOf(value: PlanValue): string {
  return "source" in value ? `source ${value.source}` : `${value.op} ${value.output}`;
}
