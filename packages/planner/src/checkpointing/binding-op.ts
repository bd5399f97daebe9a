import type { UnmetBudget } from "@remat/memory";
import { formatOccurrence, type Occurrence, opOccurrences, row, type Trace } from "@remat/trace";
import { workingSet } from "../bound/working-set.js";
import type { TracePlanningGraph } from "../graph/planning-graph-of-trace.js";

/** The reason why a budget for a training step cannot be met. */
export interface BindingOp extends UnmetBudget {
  /** The op that needs `lowerBoundBytes`. */
  readonly op: number;
  readonly occurrence: Occurrence;
}

/** Describes the op that requires the most memory in any schedule. @internal */
export function bindingOp(
  trace: Trace,
  graph: TracePlanningGraph,
  { smallestFoundBytes, isProven }: Pick<BindingOp, "smallestFoundBytes" | "isProven">,
): BindingOp {
  const { bytes, node } = workingSet(graph, false);
  const op = Math.max(0, graph.opOfNode[node]);
  const occurrences = opOccurrences(trace);
  const describe = (value: number) => {
    const maker = graph.opOfNode[graph.producer[value]];
    const name = maker < 0 ? graph.nodeName(graph.producer[value]) : formatOccurrence(occurrences[maker]);
    return { name, bytes: graph.bytes[value] };
  };
  const bySize = (values: Int32Array) => [...values].map(describe).sort((a, b) => b.bytes - a.bytes);
  const inputs = bySize(row(graph.inputs, node));
  const outputs = bySize(row(graph.outputs, node));
  return {
    isProven,
    lowerBoundBytes: bytes,
    smallestFoundBytes,
    op,
    occurrence: occurrences[op],
    inputs,
    outputs,
    heldBytes: graph.baseBytes,
    waitingBytes: [...inputs, ...outputs].reduce(
      (rest, value) => rest - value.bytes,
      bytes - graph.baseBytes - graph.workspaceBytes[node],
    ),
  };
}
