import { type Plan, type PlanValue, row } from "@remat/trace";
import { forEachLife } from "./hold-sequence.js";
import { planValues } from "./plan-values.js";
import type { TraceSequenceGraph } from "./sequence-graph-of-trace.js";
import type { PlanSequence } from "./sequence-of-plan.js";

/** A value from the place in a sequence that makes it to the last at which it is held. */
export interface Life {
  readonly value: number;
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the lives of values under a plan: what it names is held until it says that it is freed, or to the end; what is the caller's, until its
 * last reader. Undefined where a step reads what none before it has made.
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
  plan.steps.forEach(({ free }, step) => {
    const place = placeOfStep[step];
    const list = freedAt.get(place) ?? [];
    for (const name of free) {
      const value = valueOf.get(keyOf(name));
      if (value !== undefined) list.push(value);
    }
    freedAt.set(place, list);
  });
  const madeAt = new Int32Array(graph.valueCount).fill(-1);
  const end = (value: number, to: number): void => {
    if (madeAt[value] >= 0) lives.push({ value, from: madeAt[value], to });
    madeAt[value] = -1;
  };
  for (let place = 0; place < nodes.length; place++) {
    for (const value of row(graph.outputs, nodes[place])) {
      if (names[value] === undefined) continue;
      end(value, place - 1);
      madeAt[value] = place;
    }
    for (const value of freedAt.get(place) ?? []) end(value, place);
  }
  for (let value = 0; value < graph.valueCount; value++) end(value, nodes.length);
  return lives;
}

function keyOf(value: PlanValue): string {
  return "source" in value ? `source ${value.source}` : `${value.op} ${value.output}`;
}
