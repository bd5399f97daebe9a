import type { OpIndex, StorageIndex, Trace } from "@remat/trace";
import { NodeKind } from "../graph/graph.js";
import type { GraphAliasTracker } from "../graph/graph-alias-tracker.js";
import type { TraceGraph } from "../graph/graph-of-trace.js";

/** What in-place ops mean for running ops again. @internal */
export interface InPlaceOps {
  /** By op: 1 for one that writes into a storage made before. */
  readonly isWriter: Uint8Array;
  /** By op: 1 for a writer that is recomputed with the op whose storage it writes into. */
  readonly isMerged: Uint8Array;
  /** By op, the writers that finish what it makes, in order. */
  readonly finishedBy: ReadonlyMap<number, readonly number[]>;
  /** By op: 1 where running it again could find a storage overwritten. */
  readonly isPinned: Uint8Array;
  /** The storages that a merged writer reads besides the one that it finishes. */
  otherReads(writer: number): readonly number[];
}

function writtenStorages(trace: Trace, op: OpIndex): readonly number[] {
  return [...new Set(Array.from(trace.opWrites(op)).flatMap((tensor) => [...trace.tensorStorages(tensor)]))];
}

/** @internal */
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
  /** Ops after which an op that ran before could read something else, ascending. */
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

  /** Whether a node of the graph may be recomputed: to make what it allocates, or with the op whose storage it finishes. */
  function isRecomputed(node: number): boolean {
    return aliases.getFreshAllocations(node).length > 0 || (graph.ops[node] >= 0 && isMerged[graph.ops[node]] === 1);
  }

  /** Whether the writer `n` can run right after the node that makes `storage`, as far as anything else can tell. */
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
