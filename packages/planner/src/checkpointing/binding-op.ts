import { formatOccurrence, type Occurrence, opOccurrences, row, type Trace } from "@remat/trace";
import { workingSet } from "../bound/working-set.js";
import type { TracePlanningGraph } from "../graph/planning-graph-of-trace.js";

/** Why nothing meets a budget. */
export interface BindingOp {
  /** Whether it is proven that nothing does; if not, nothing was found. */
  readonly isProven: boolean;
  /** No plan holds less. */
  readonly lowerBoundBytes: number;
  /** The smallest peak found. */
  readonly smallestFoundBytes: number;
  /** The op that needs `lowerBoundBytes`, and what it reads and makes. */
  readonly op: number;
  readonly occurrence: Occurrence;
  readonly inputs: readonly { readonly name: string; readonly bytes: number }[];
  readonly outputs: readonly { readonly name: string; readonly bytes: number }[];
  /** Weights and other storages that are held all the time. */
  readonly heldBytes: number;
  /** What waits there for a later op and cannot be recomputed: gradients, random numbers, results. */
  readonly waitingBytes: number;
}

/** @internal */
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
