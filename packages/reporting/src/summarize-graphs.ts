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

/** Graphs of a compiled model, by its name. */
export interface CompiledGraphs extends CompiledRecord {
  readonly name: string;
}

/** What one graph holds, in bytes. */
export interface GraphSummary extends CompiledPass {
  /** Nodes that compute. */
  readonly nodes: number;
  /** Before its first node: arguments and constants, and of a backward graph what lives all through it. */
  readonly givenBytes: number;
  readonly peakBytes: number;
  /** The node after whose allocations it is reached; undefined where it is at the start. */
  readonly peakNode: string | undefined;
}

/** What the graphs of a compiled model hold. */
export interface GraphsSummary {
  readonly name: string;
  readonly device: string;
  /** Of a step through all of them. */
  readonly peakBytes: number;
  /** What forward graphs make, and their backward graphs take. */
  readonly savedBytes: number;
  readonly graphs: readonly GraphSummary[];
}

/**
 * Returns what the graphs of a compiled model hold on the device that holds most, as torch's `_inductor/fx_passes/memory_estimator.py` estimates it: in the order in which their nodes
 * stand, before Inductor fuses and reorders them; and what a step through all of them does.
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
