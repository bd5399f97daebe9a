import {
  buildGraph,
  buildMemoryProfile,
  type Graph,
  type GraphNodeRecord,
  type GraphRecord,
  getFwdBwdInteractions,
  NodeKind,
} from "@remat/memory/graph";

/** Graphs of a compiled model, each forward graph with its backward graph, over one table of storages. */
export interface CompiledGraphs {
  readonly name: string;
  readonly storages: GraphRecord["storages"];
  readonly graphs: readonly {
    readonly forward: readonly GraphNodeRecord[];
    readonly backward: readonly GraphNodeRecord[] | undefined;
  }[];
}

/** What one graph holds, in bytes. */
export interface GraphSummary {
  readonly graph: number;
  readonly pass: "forward" | "backward";
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
  readonly peakBytes: number;
  readonly graphs: readonly GraphSummary[];
}

/**
 * Returns what the graphs of a compiled model hold on the device that holds most, as torch's `_inductor/fx_passes/memory_estimator.py` estimates it: in the order in which their nodes
 * stand, before Inductor fuses and reorders them.
 *
 * @throws RematError `GRAPH_NODE`, `GRAPH_STORAGE`, `GRAPH_PAIR`
 */
export function summarizeGraphs({ name, storages, graphs }: CompiledGraphs): GraphsSummary {
  const held = new Map<string, number>();
  for (const { bytes, device } of storages) held.set(device, (held.get(device) ?? 0) + bytes);
  const device = [...held].sort(([, a], [, b]) => b - a).at(0)?.[0] ?? "cpu";
  const summaries = graphs.flatMap(({ forward, backward }, graph) => {
    const first = buildGraph({ storages, nodes: forward, device });
    const summary = summarize(first, graph, "forward");
    if (backward === undefined) return [summary];
    const second = buildGraph({ storages, nodes: backward, device });
    const { backwardBaselineBytes, doNotDelete } = getFwdBwdInteractions(first, second);
    return [summary, summarize(second, graph, "backward", backwardBaselineBytes, new Set(doNotDelete))];
  });
  return { name, device, peakBytes: Math.max(...summaries.map(({ peakBytes }) => peakBytes)), graphs: summaries };
}

function summarize(
  graph: Graph,
  place: number,
  pass: "forward" | "backward",
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
