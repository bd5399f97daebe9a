import { type SequenceGraphOptions, sequenceGraphOfTrace, type TraceSequenceGraph } from "@remat/memory/sequence";
import { countReplayedOps, type OpIndex, Phase, RematError, row, type Trace, transposeRows } from "@remat/trace";
import { type PlanningGraph, withLink } from "./planning-graph.js";

/** Options for {@link planningGraphOfTrace}. */
export type PlanningGraphOfTraceOptions = SequenceGraphOptions & {
  /**
   * Bandwidth of the link between device and host memory in each direction, in bytes per second. If given, results of
   * the forward pass may be offloaded instead of recomputed. By default nothing is offloaded.
   */
  readonly linkBytesPerSecond?: number | undefined;
  /** The sequence graph of the trace, if it is known. It is used as it is, so `isReplayable` has no effect. */
  readonly sequenceGraph?: TraceSequenceGraph | undefined;
};

/** A planning graph whose nodes refer to the ops and storages of a trace. */
export type TracePlanningGraph = PlanningGraph & TraceSequenceGraph;

/**
 * Returns the planning graph of a trace of one training step: its sequence graph (`sequenceGraphOfTrace` of
 * `@remat/memory`) with the cost of running each op again.
 *
 * @throws RematError `TRACE_PHASE` for a trace without a backward pass, `TRACE_RECOMPUTES` for a step that recomputes
 * by itself, `TRACE_RUNTIME` for a trace without runtimes (estimate them first), and `LINK` for an invalid bandwidth,
 * or for a framework that does not support offloading
 * @example
 * const graph = planningGraphOfTrace(await readTrace(file));
 */
export function planningGraphOfTrace(trace: Trace, options: PlanningGraphOfTraceOptions = {}): TracePlanningGraph {
  checkTrace(trace);
  const { sequenceGraph: graph = sequenceGraphOfTrace(trace, options) } = options;
  const { nodeCount, valueCount, opOfNode, replayOps, isFinishing, outputs, inputs, storageOfValue } = graph;
  const cost = new Float64Array(nodeCount);
  const producer = new Int32Array(valueCount);
  for (let v = 0; v < nodeCount; v++) {
    for (const value of row(outputs, v)) producer[value] = v;
    // The cost of an in-place op is counted with the op that it completes, since the two are recomputed together.
    if (isFinishing[v] === 0) for (const op of row(replayOps, v)) cost[v] += runtimeMs(trace, op);
  }
  const planning: TracePlanningGraph = {
    ...graph,
    cost,
    isSource: Uint8Array.from(opOfNode, (op) => (op < 0 ? 1 : 0)),
    producer,
    recomputable: graph.repeatable,
    consumers: transposeRows(inputs, valueCount),
    nodeName(v) {
      if (opOfNode[v] >= 0) return `${trace.opName(opOfNode[v])}#${opOfNode[v]}`;
      const [value] = row(outputs, v);
      return value === undefined ? `release#${v}` : `storage#${storageOfValue[value]}`;
    },
  };
  const { linkBytesPerSecond } = options;
  if (linkBytesPerSecond === undefined) return planning;
  checkLink(trace, linkBytesPerSecond);
  return { ...planning, ...withLink(planning, linkBytesPerSecond / 1000, (v) => graph.offloadable[v] === 1) };
}

function checkLink({ header: { framework } }: Trace, linkBytesPerSecond: number): void {
  if (!(typeof linkBytesPerSecond === "number" && linkBytesPerSecond > 0))
    throw new RematError(
      "LINK",
      `linkBytesPerSecond must be above 0; found ${JSON.stringify(linkBytesPerSecond)}. Leave it out to plan without offloading.`,
    );
  if (framework !== "tfjs")
    throw new RematError(
      "LINK",
      `offloading is not supported for ${framework}, only for TensorFlow.js. Leave the link out.`,
    );
}

function runtimeMs({ ops }: Trace, op: OpIndex): number {
  return Number.isFinite(ops.runtimeMs[op]) ? ops.runtimeMs[op] : 0;
}

function checkTrace(trace: Trace): void {
  if (!trace.hasPhase(Phase.backward))
    throw new RematError(
      "TRACE_PHASE",
      `the trace of '${trace.header.model ?? "a model"}' has ${trace.ops.count} ops but no backward pass. Trace a training step.`,
    );
  const replayed = countReplayedOps(trace);
  if (replayed > 0) throw recomputes(trace, replayed);
  if (trace.ops.runtimeMs.every((ms) => !(ms > 0)))
    throw new RematError(
      "TRACE_RUNTIME",
      `none of the ${trace.ops.count} ops has a runtime. Estimate them with priceTrace(trace, device) of @remat/runtime-estimator before planning.`,
    );
}

function recomputes({ header: { model = "a model" }, ops }: Trace, replayed: number): RematError {
  return new RematError(
    "TRACE_RECOMPUTES",
    `${replayed} of the ${ops.count} ops of '${model}' are recomputations, which the plan must decide. Trace the step with checkpointing "free", as remat plan MODEL does, or record it after endCheckpointing().`,
  );
}
