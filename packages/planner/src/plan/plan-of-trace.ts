import { heldPeak } from "@remat/memory";
import { holdSequence, planValues, valuesFreedAfter, valuesOffloadedAfter } from "@remat/memory/sequence";
import {
  EventKind,
  fingerprintOfOps,
  gradientsStartMark,
  opOccurrences,
  type Plan,
  type PlanStep,
  type PlanValue,
  row,
  type Trace,
} from "@remat/trace";
import type { TracePlanningGraph } from "../graph/planning-graph-of-trace.js";
import type { Rematerialization } from "../rematerialize.js";
import { deferSources } from "../schedule/defer-sources.js";
import { originOf, predictionOf } from "./plan-of-graph.js";
import { freeAfter, type PlanningStep, reloadAfter } from "./planning-step.js";

/**
 * Writes a schedule of a trace's graph as a plan. The plan has every op of the trace in order, recomputation in
 * between, and after each step the values to free, including values that are only freed early.
 *
 * @example
 * const graph = planningGraphOfTrace(trace);
 * const plan = planOfTrace(trace, graph, await rematerialize(graph, { budgetBytes: 2e9 }));
 */
export function planOfTrace(trace: Trace, graph: TracePlanningGraph, schedule: Rematerialization): Plan {
  return plansOfTrace(trace, graph)(schedule);
}

/**
 * Returns a function that writes several schedules of a trace's graph like {@link planOfTrace}. The parts that their
 * plans have in common are computed once. @internal
 */
export function plansOfTrace(trace: Trace, graph: TracePlanningGraph): (schedule: Rematerialization) => Plan {
  const ops = opOccurrences(trace);
  const { header } = trace;
  const { names, sources } = planValues(graph);
  const recordedPeakBytes = heldPeak(trace).peakBytes;
  const passes = passStarts(trace);
  const subject: Plan["subject"] = {
    kind: "trace",
    name: header.model ?? "model",
    framework: header.framework,
    ...(header.backend !== undefined && { backend: header.backend }),
    device: header.device,
    allocationUnitBytes: header.allocationUnitBytes,
    ...(header.fasterGradients !== undefined && { fasterGradients: header.fasterGradients }),
    ...(header.step !== undefined && { step: header.step }),
    fingerprint: fingerprintOfOps(ops),
  };
  return (schedule) => {
    const sequence = deferSources(graph, schedule.sequence);
    const { peakBytes } = holdSequence(graph, sequence)!;
    return {
      subject,
      origin: originOf(schedule),
      predicted: { ...predictionOf(schedule), peakBytes, recordedPeakBytes },
      ops,
      ...(passes.length > 0 && { passes }),
      sources,
      steps: stepsOf(trace, graph, sequence, names),
    };
  };
}

/** Returns the first op of each forward and backward pass that the trace marks. */
function passStarts({ events, strings }: Trace): number[] {
  const starts: number[] = [];
  let isStarting = false;
  for (let e = 0; e < events.count; e++) {
    if (events.kind[e] === EventKind.mark) isStarting ||= strings[events.subject[e]] === gradientsStartMark;
    if (events.kind[e] !== EventKind.op || !isStarting) continue;
    starts.push(events.subject[e]);
    isStarting = false;
  }
  return starts;
}

function stepsOf(
  trace: Trace,
  graph: TracePlanningGraph,
  sequence: Int32Array,
  valueAs: readonly (PlanValue | undefined)[],
): PlanStep[] {
  const freed = valuesFreedAfter(graph, sequence);
  const offloaded = valuesOffloadedAfter(graph, sequence);
  const { opOfNode, replayOps, outputs } = graph;
  const steps: PlanningStep[] = [];
  const runs = new Uint8Array(graph.nodeCount);
  let nextOp = 0;
  for (let p = 0; p < sequence.length; p++) {
    const v = sequence[p];
    if (v < 0) reloadAfter(steps[steps.length - 1], valueAs[outputs.values[outputs.start[~v]]]);
    else if (runs[v] === 1)
      for (const op of row(replayOps, v)) {
        // `replayOps` include later ops that modify the result in place. Ops that have not run yet are not repeated.
        if (op < nextOp) steps.push({ op, isRecomputed: true, free: [] });
      }
    // Adds no step for a node that no op makes.
    else while (nextOp <= opOfNode[v]) steps.push({ op: nextOp++, isRecomputed: false, free: [] });
    if (v >= 0) runs[v] = 1;
    if (freed[p].length > 0) freeAfter(steps[steps.length - 1], freed[p], offloaded.get(p), (w) => valueAs[w]);
  }
  while (nextOp < trace.ops.count) steps.push({ op: nextOp++, isRecomputed: false, free: [] });
  return steps;
}
