import { RematError } from "@remat/trace";
import { buildMemoryProfile, peakOfProfile } from "./build-memory-profile.js";
import { countedBytes, type Graph, type MemoryOptions, NodeKind, releasability } from "./graph.js";
import { GraphAliasTracker } from "./graph-alias-tracker.js";

/** The effects of a forward graph on the memory of its backward graph. */
export interface FwdBwdInteractions {
  /**
   * Bytes of outputs of the forward graph that the backward graph does not read. They are live during the whole
   * backward pass.
   */
  readonly backwardBaselineBytes: number;
  /**
   * Placeholders of the backward graph, ascending, whose memory it cannot release because it belongs to the caller or
   * comes from outside.
   */
  readonly doNotDelete: readonly number[];
}

/**
 * Returns how the memory of a forward graph interacts with that of its backward graph. Both must use one table of
 * storages.
 *
 * Source: `get_fwd_bwd_interactions` of torch/_inductor/fx_passes/memory_estimator.py (2.13). PyTorch's function always
 * raises a TypeError, since it subscripts the output node. This function computes the intended result.
 *
 * @throws RematError `GRAPH_PAIR` if the graphs do not share their storages, or if the forward graph does not end with
 * an output node
 */
export function getFwdBwdInteractions(
  forward: Graph,
  backward: Graph,
  options: Omit<MemoryOptions, "isReleasable"> = {},
): FwdBwdInteractions {
  checkPair(forward, backward);
  const count = forward.storages.count;
  const forwardAliases = new GraphAliasTracker(forward);
  const callers = new Uint8Array(count);
  for (let n = 0; n < forward.nodeCount; n++)
    if (forward.kinds[n] === NodeKind.placeholder && forward.held[n] === 1)
      for (const storage of forwardAliases.getFreshAllocations(n)) callers[storage] = 1;
  const handedOut = new Uint8Array(count);
  for (const storage of forwardAliases.getStorageUses(forward.nodeCount - 1)) handedOut[storage] = 1;

  const taken = new Uint8Array(count);
  const doNotDelete: number[] = [];
  for (let n = 0; n < backward.nodeCount; n++) {
    if (backward.kinds[n] !== NodeKind.placeholder) continue;
    let isCallers = false;
    let isFromForward = false;
    for (let i = backward.outputs.start[n]; i < backward.outputs.start[n + 1]; i++) {
      const storage = backward.outputs.values[i];
      taken[storage] = 1;
      isCallers ||= callers[storage] === 1;
      isFromForward ||= handedOut[storage] === 1;
    }
    if (isCallers || !isFromForward) doNotDelete.push(n);
  }
  const bytes = countedBytes(forward, options);
  let backwardBaselineBytes = 0;
  for (let s = 0; s < count; s++) if (handedOut[s] === 1 && taken[s] === 0) backwardBaselineBytes += bytes[s];
  return { backwardBaselineBytes, doNotDelete };
}

/**
 * Returns the peak in bytes of a forward graph followed by its backward graph.
 *
 * Source: `get_peak_memory` of torch/_inductor/fx_passes/memory_estimator.py (2.13).
 *
 * @throws RematError `GRAPH_PAIR`, as for {@link getFwdBwdInteractions}
 * @example
 * const peakBytes = getPeakMemory(graphOfTrace(trace, { phases: [Phase.forward] }), graphOfTrace(trace, { phases: [Phase.backward] }));
 */
export function getPeakMemory(forward: Graph, backward: Graph, options: MemoryOptions = {}): number {
  const { backwardBaselineBytes, doNotDelete } = getFwdBwdInteractions(forward, backward, options);
  const kept = new Set(doNotDelete);
  const isReleasable = releasability(backward, options);
  const forwardPeak = peakOfProfile(buildMemoryProfile(forward, options));
  const backwardPeak = peakOfProfile(
    buildMemoryProfile(backward, { ...options, isReleasable: (node) => isReleasable(node) && !kept.has(node) }),
  );
  return Math.max(forwardPeak, backwardBaselineBytes + backwardPeak);
}

function checkPair(forward: Graph, backward: Graph): void {
  if (forward.storages.count !== backward.storages.count)
    throw new RematError(
      "GRAPH_PAIR",
      `forward graph has ${forward.storages.count} storages, and the backward graph has ${backward.storages.count}. Build both over one table of storages.`,
    );
  if (forward.nodeCount === 0 || forward.kinds[forward.nodeCount - 1] !== NodeKind.output)
    throw new RematError(
      "GRAPH_PAIR",
      "the forward graph does not end with an output node. Add one that reads the inputs of the backward graph.",
    );
}
