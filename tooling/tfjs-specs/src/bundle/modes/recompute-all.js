import { planOfTrace, rematerialize } from "@remat/planner";
import { planningGraphOfTrace } from "@remat/planner/graph";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { Phase, row } from "@remat/trace";

/**
 * An artificial plan: before every op, everything that it depends on is recomputed as far as possible, and freed
 * afterwards. Undefined if there is nothing to plan: without a backward pass, or with views only.
 *
 * @param {import("@remat/trace").Trace} trace of one forward and backward pass
 */
export async function recomputeAll(trace) {
  const priced = priceTrace(trace, deviceSpec("cpu"));
  if (!trace.hasPhase(Phase.backward) || !priced.ops.runtimeMs.some((ms) => ms > 0)) return undefined;
  const graph = planningGraphOfTrace(priced);
  const { producer, inputs, recomputable } = graph;
  const sequence = [];
  for (let node = 0; node < graph.nodeCount; node++) {
    const again = new Set();
    const way = [node];
    for (let reader = way.pop(); reader !== undefined; reader = way.pop())
      for (const value of row(inputs, reader)) {
        const source = producer[value];
        if (recomputable[source] !== 1 || again.has(source)) continue;
        again.add(source);
        way.push(source);
      }
    sequence.push(...[...again].sort((a, b) => a - b), node);
  }
  const plain = await rematerialize(graph, { budgetBytes: Number.MAX_SAFE_INTEGER, iterations: 0, boundTimeMs: 0 });
  return planOfTrace(priced, graph, { ...plain, sequence: Int32Array.from(sequence) });
}
