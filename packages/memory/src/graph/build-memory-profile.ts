import { countedBytes, type Graph, isGiven, type MemoryOptions, NodeKind, releasability } from "./graph.js";
import { GraphAliasTracker } from "./graph-alias-tracker.js";

/**
 * Returns bytes alive while a graph runs in its own order: first what is there before (arguments and constants), then two numbers for each
 * node that computes, after its allocations and after the release of what it was the last to read.
 *
 * Source: `build_memory_profile` of torch/_inductor/fx_passes/memory_estimator.py (2.13).
 *
 * @example
 * const profile = buildMemoryProfile(graph, { sizeOf: (bytes) => Math.ceil(bytes / 512) * 512 });
 * console.log(peakOfProfile(profile));
 */
export function buildMemoryProfile(
  graph: Graph,
  options: MemoryOptions = {},
  aliases: GraphAliasTracker = new GraphAliasTracker(graph),
): Float64Array {
  const { nodeCount, kinds } = graph;
  const bytes = countedBytes(graph, options);
  const isReleasable = releasability(graph, options);
  let current = 0;
  let computing = 0;
  for (let n = 0; n < nodeCount; n++) {
    if (isGiven(kinds[n])) for (const storage of aliases.getFreshAllocations(n)) current += bytes[storage];
    else if (kinds[n] === NodeKind.compute) computing++;
  }
  const profile = new Float64Array(1 + 2 * computing);
  profile[0] = current;
  let length = 1;
  for (let n = 0; n < nodeCount; n++) {
    if (kinds[n] !== NodeKind.compute) continue;
    for (const storage of aliases.getFreshAllocations(n)) current += bytes[storage];
    profile[length++] = current;
    for (const storage of aliases.getStoragesLastUsed(n)) {
      const allocator = aliases.storageToAllocator[storage];
      if (allocator >= 0 && isReleasable(allocator)) current -= bytes[storage];
    }
    profile[length++] = current;
  }
  return profile;
}

/** Returns the largest number of a memory profile, in bytes. */
export function peakOfProfile(profile: Float64Array): number {
  let peak = 0;
  for (let i = 0; i < profile.length; i++) if (profile[i] > peak) peak = profile[i];
  return peak;
}
