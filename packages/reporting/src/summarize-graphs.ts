import {
  buildGraph,
  buildMemoryProfile,
  busiestDevice,
  type CompiledPass,
  type CompiledRecord,
  type Graph,
  getFwdBwdInteractions,
  holdCompiledStep,
  NodeKind,
} from "@remat/memory/graph";

/** Graphs of a compiled model, with its name. */
export interface CompiledGraphs extends CompiledRecord {
  readonly name: string;
}

/** Memory of one graph, in bytes. */
export interface GraphSummary extends CompiledPass {
  /** Number of nodes that compute. */
  readonly nodes: number;
  /**
   * Memory before its first node: arguments and constants, and, for a backward graph, everything that stays alive
   * during the whole graph.
   */
  readonly givenBytes: number;
  readonly peakBytes: number;
  /** The node whose allocations reach the peak, or undefined if the peak is at the start. */
  readonly peakNode: string | undefined;
}

/** Memory of a compiled model's graphs. */
export interface GraphsSummary {
  readonly name: string;
  readonly device: string;
  /** Peak of a step through all graphs. */
  readonly peakBytes: number;
  /** Bytes that forward graphs save for their backward graphs. */
  readonly savedBytes: number;
  readonly graphs: readonly GraphSummary[];
}

/**
 * Estimates the memory of a compiled model's graphs on the device that uses the most, as torch's
 * `_inductor/fx_passes/memory_estimator.py` does: in the order of their nodes, before Inductor fuses and reorders them.
 * Also estimates a step through all graphs.
 *
 * @throws RematError `GRAPH_NODE`, `GRAPH_STORAGE`, `GRAPH_PAIR`
 */
export function summarizeGraphs(compiled: CompiledGraphs): GraphsSummary {
  const { name, storages, graphs } = compiled;
  const device = busiestDevice(storages);
  const summaries = graphs.flatMap(({ forward, backward }, graph) => {
    const first = buildGraph({ storages, nodes: forward, device });
    const summary = summarize(first, graph, "forward");
    if (backward === undefined) return [summary];
    const second = buildGraph({ storages, nodes: backward, device });
    const { backwardBaselineBytes, doNotDelete } = getFwdBwdInteractions(first, second);
    return [summary, summarize(second, graph, "backward", backwardBaselineBytes, new Set(doNotDelete))];
  });
  const { peakBytes, savedBytes } = holdCompiledStep(compiled);
  return { name, device, peakBytes, savedBytes, graphs: summaries };
}

function summarize(
  graph: Graph,
  place: number,
  pass: CompiledPass["pass"],
  baselineBytes = 0,
  kept: ReadonlySet<number> = new Set(),
): GraphSummary {
  const profile = buildMemoryProfile(graph, { isReleasable: (node) => graph.held[node] === 0 && !kept.has(node) });
  const computing = Array.from(graph.kinds.keys()).filter((node) => graph.kinds[node] === NodeKind.compute);
  let at = 0;
  profile.forEach((bytes, i) => {
    if (bytes > profile[at]) at = i;
  });
  return {
    graph: place,
    pass,
    nodes: computing.length,
    givenBytes: baselineBytes + profile[0],
    peakBytes: baselineBytes + profile[at],
    peakNode: at === 0 ? undefined : graph.nodeName(computing[(at - 1) >> 1]),
  };
}
