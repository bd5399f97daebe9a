import { type PlanSource, type PlanValue, row } from "@remat/trace";
import type { TraceSequenceGraph } from "./sequence-graph-of-trace.js";

/** The names that a plan uses for the values of a graph. */
export interface PlanValues {
  /** The name of each value. Undefined for the caller's values, which a plan does not control. */
  readonly names: readonly (PlanValue | undefined)[];
  readonly sources: readonly PlanSource[];
}

/**
 * Returns the names that a plan uses for the values of the graph of its trace: outputs of ops, and values that
 * JavaScript makes between ops, numbered in order.
 */
export function planValues(graph: TraceSequenceGraph): PlanValues {
  const { trace, opOfNode, outputs, storageOfValue, bytes, valueCount, nodeCount } = graph;
  const sources: PlanSource[] = [];
  const names: (PlanValue | undefined)[] = Array.from({ length: valueCount }, () => undefined);
  let before = 0;
  let ordinal = 0;
  for (let node = 0; node < nodeCount; node++) {
    const op = opOfNode[node];
    if (op >= 0) {
      before = op + 1;
      ordinal = 0;
    }
    for (const value of row(outputs, node)) {
      if (op >= 0) {
        const storage = storageOfValue[value];
        const output = trace.opOutputs(op).findIndex((tensor) => trace.tensorStorages(tensor).includes(storage));
        names[value] = { op, output };
      } else if (before > 0) {
        names[value] = { source: sources.length };
        sources.push({ before, ordinal: ordinal++, bytes: bytes[value] });
      }
    }
  }
  return { names, sources };
}
