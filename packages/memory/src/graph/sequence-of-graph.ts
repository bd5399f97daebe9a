import type { SequenceGraph } from "../sequence/sequence-graph.js";
import { countedBytes, type Graph, isGiven, type MemoryOptions, NodeKind, releasability } from "./graph.js";
import type { GraphAliasTracker } from "./graph-alias-tracker.js";

/** A graph in the form of a sequence graph, and the order in which its nodes run. @internal */
export interface GraphSequence {
  /** The values are the graph's storages. */
  readonly graph: SequenceGraph;
  /** The nodes that exist before the graph runs, then the nodes that compute, in the graph's order. */
  readonly nodes: Int32Array;
  readonly givenCount: number;
}

/**
 * Reads a graph with the rules of PyTorch: a storage is freed after the last node that computes with it. It stays if no
 * node reads it, if it is an output, or if `options` say so.
 *
 * @internal
 */
export function sequenceOfGraph(graph: Graph, options: MemoryOptions, aliases: GraphAliasTracker): GraphSequence {
  const { nodeCount, kinds, reads, storages } = graph;
  const isReleasable = releasability(graph, options);
  const { storageToAllocator, storageToLastUser } = aliases;
  const result = new Uint8Array(storages.count);
  for (let s = 0; s < storages.count; s++) {
    const lastUser = storageToLastUser[s];
    const isDone = lastUser >= 0 && kinds[lastUser] === NodeKind.compute;
    result[s] = isDone && storageToAllocator[s] >= 0 && isReleasable(storageToAllocator[s]) ? 0 : 1;
  }
  const nodes = new Int32Array(nodeCount);
  let length = 0;
  for (let n = 0; n < nodeCount; n++) if (isGiven(kinds[n])) nodes[length++] = n;
  const givenCount = length;
  for (let n = 0; n < nodeCount; n++) if (kinds[n] === NodeKind.compute) nodes[length++] = n;
  return {
    graph: {
      nodeCount,
      valueCount: storages.count,
      workspaceBytes: new Float64Array(nodeCount),
      outputs: aliases.freshAllocations,
      inputs: reads,
      bytes: countedBytes(graph, options),
      result,
      baseBytes: 0,
    },
    nodes: nodes.subarray(0, length),
    givenCount,
  };
}
