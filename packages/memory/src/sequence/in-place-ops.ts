import type { OpIndex, StorageIndex, Trace } from "@remat/trace";
import { NodeKind } from "../graph/graph.js";
import type { GraphAliasTracker } from "../graph/graph-alias-tracker.js";
import type { TraceGraph } from "../graph/graph-of-trace.js";

/** The effect of in-place ops on recomputation. @internal */
export interface InPlaceOps {
  /** For each op, 1 if it writes into a storage created before. */
  readonly isWriter: Uint8Array;
  /** For each op, 1 if it is a writer that is recomputed together with the op whose storage it writes into. */
  readonly isMerged: Uint8Array;
  /** For each op, the writers that complete its result, in order. */
  readonly finishedBy: ReadonlyMap<number, readonly number[]>;
  /** For each op, 1 if running it again could read a storage that was overwritten. */
  readonly isPinned: Uint8Array;
  /** Returns the storages that a merged writer reads, except the one it completes. */
  otherReads(writer: number): readonly number[];
}

function writtenStorages(trace: Trace, op: OpIndex): readonly number[] {
  return [...new Set(Array.from(trace.opWrites(op)).flatMap((tensor) => [...trace.tensorStorages(tensor)]))];
}

/** Finds the in-place ops of a trace and their effect on recomputation. @internal */
export function inPlaceOps(
  trace: Trace,
  graph: TraceGraph,
  aliases: GraphAliasTracker,
  isReplayable: (op: OpIndex) => boolean,
): InPlaceOps {
  const { count } = trace.ops;
  const isWriter = new Uint8Array(count);
  const isMerged = new Uint8Array(count);
  const isPinned = new Uint8Array(count);
  const finishedBy = new Map<number, number[]>();
  const others = new Map<number, number[]>();
  /**
   * Ops that overwrite inputs of earlier ops, in ascending order. If the earlier ops ran again, they would read
   * different values.
   */
  const barriers: number[] = [];
  for (let n = 0; n < graph.nodeCount; n++) {
    const op = graph.ops[n];
    if (graph.kinds[n] !== NodeKind.compute || op < 0) continue;
    const written = writtenStorages(trace, op);
    if (written.length === 0) continue;
    const fresh = aliases.getFreshAllocations(n);
    const reads = aliases.getStorageUses(n);
    for (const storage of written) {
      if (fresh.includes(storage) || !reads.includes(storage)) continue;
      isWriter[op] = 1;
      if (mergeInto(n, storage, reads)) continue;
      const maker = graph.ops[aliases.storageToAllocator[storage]];
      if (maker >= 0) isPinned[maker] = 1;
      const isReadBefore = aliases
        .getUsers(storage)
        .some((user) => user < n && graph.ops[user] >= 0 && isReplayable(graph.ops[user]));
      if (isReadBefore) barriers.push(n);
    }
  }
  let next = 0;
  for (let n = 0; n < graph.nodeCount; n++) {
    while (barriers[next] <= n) next++;
    if (next === barriers.length) break;
    if (graph.ops[n] < 0) continue;
    let last = n;
    for (const storage of aliases.getFreshAllocations(n)) last = Math.max(last, aliases.storageToLastUser[storage]);
    if (barriers[next] < last) isPinned[graph.ops[n]] = 1;
  }
  return { isWriter, isMerged, finishedBy, isPinned, otherReads: (writer) => others.get(writer) ?? [] };

  /**
   * Returns whether a node of the graph may be recomputed: for its own results, or with the op whose storage it
   * completes.
   */
  function isRecomputed(node: number): boolean {
    return aliases.getFreshAllocations(node).length > 0 || (graph.ops[node] >= 0 && isMerged[graph.ops[node]] === 1);
  }

  /**
   * Merges the writer `n` with the node that creates `storage`, if running it right after that node does not affect any
   * other node. Returns whether they were merged.
   */
  function mergeInto(n: number, storage: StorageIndex, reads: Int32Array): boolean {
    const maker = aliases.storageToAllocator[storage];
    const makerOp = graph.ops[maker];
    const op = graph.ops[n];
    if (makerOp < 0 || !isReplayable(makerOp) || !isReplayable(op) || isPinned[makerOp] === 1) return false;
    const finishing = finishedBy.get(makerOp) ?? [];
    const isReadBetween = aliases
      .getUsers(storage)
      .some((user) => user < n && !finishing.includes(graph.ops[user]) && isRecomputed(user));
    const other = [...reads].filter((read) => read !== storage);
    const isThereBefore = other.every((read) => aliases.storageToAllocator[read] < maker);
    const makesMore = aliases.getFreshAllocations(n).length > 0;
    if (isReadBetween || !isThereBefore || makesMore) return false;
    finishedBy.set(makerOp, [...finishing, op]);
    others.set(op, other);
    isMerged[op] = 1;
    return true;
  }
}
