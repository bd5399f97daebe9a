import { forEachLife, LifeSums } from "../sequence/hold-sequence.js";
import type { Graph, MemoryOptions } from "./graph.js";
import { GraphAliasTracker } from "./graph-alias-tracker.js";
import { sequenceOfGraph } from "./sequence-of-graph.js";

/**
 * Returns the live bytes while a graph runs in its own order. First come the bytes of arguments and constants. Then
 * there are two numbers for each node that computes: after its allocations, and after it has released the storages that
 * no later node reads.
 *
 * Source: `build_memory_profile` of torch/_inductor/fx_passes/memory_estimator.py (2.13).
 *
 * @example
 * const profile = buildMemoryProfile(graph, { sizeOf: (bytes) => Math.ceil(bytes / 512) * 512 });
 * console.log(peakOfProfile(profile));
 */
export function buildMemoryProfile(graph: Graph, options: MemoryOptions = {}): Float64Array {
  const { graph: sequenceGraph, nodes, givenCount } = sequenceOfGraph(graph, options, new GraphAliasTracker(graph));
  const sums = new LifeSums(sequenceGraph, nodes.length);
  forEachLife(sequenceGraph, nodes, sums.add);
  const profile = new Float64Array(1 + 2 * (nodes.length - givenCount));
  sums.forEachStep(nodes, (step, heldBytes, leftBytes) => {
    const at = 2 * (step - givenCount);
    if (at < 0) profile[0] = leftBytes;
    else {
      profile[at + 1] = heldBytes;
      profile[at + 2] = leftBytes;
    }
  });
  return profile;
}

/** Returns the largest number of a memory profile, in bytes. */
export function peakOfProfile(profile: Float64Array): number {
  let peak = 0;
  for (let i = 0; i < profile.length; i++) if (profile[i] > peak) peak = profile[i];
  return peak;
}
