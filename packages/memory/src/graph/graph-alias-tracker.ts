import { type Rows, row, transposeRows } from "@remat/trace";
import type { Graph, StorageKey } from "./graph.js";
import { RowsWriter } from "./rows-writer.js";

/**
 * Finds, for each storage of a graph, the node that allocates it, the nodes that use it, and the one that uses it last,
 * in the graph's own order. Views and in-place ops are recognized by their storages: a node allocates those storages of
 * its outputs that no earlier node had. Everything is computed once, in time linear in the size of the graph.
 *
 * Source: `GraphAliasTracker` of torch/_inductor/fx_passes/memory_estimator.py (2.13).
 *
 * @example
 * const aliases = new GraphAliasTracker(graph);
 * for (const storage of aliases.getStoragesLastUsed(node)) console.log(graph.storages.bytes[storage]);
 */
export class GraphAliasTracker {
  readonly graph: Graph;
  /** The node that allocates each storage, or -1 if no node of the graph does. */
  readonly storageToAllocator: Int32Array;
  /** The last node that reads each storage, or -1. */
  readonly storageToLastUser: Int32Array;
  /** The nodes that read each storage, ascending. */
  readonly storageToUses: Rows;
  /** The storages that each node allocates. @internal */
  readonly freshAllocations: Rows;
  private readonly lastUsed: Rows;

  constructor(graph: Graph) {
    this.graph = graph;
    const { nodeCount, outputs, reads, storages } = graph;
    const allocator = new Int32Array(storages.count).fill(-1);
    const lastUser = new Int32Array(storages.count).fill(-1);
    const fresh = new RowsWriter();
    for (let n = 0; n < nodeCount; n++) {
      for (let i = outputs.start[n]; i < outputs.start[n + 1]; i++) {
        const storage = outputs.values[i];
        if (allocator[storage] !== -1) continue;
        allocator[storage] = n;
        fresh.push(storage);
      }
      fresh.endRow();
      for (let i = reads.start[n]; i < reads.start[n + 1]; i++) lastUser[reads.values[i]] = n;
    }
    const lastUsed = new RowsWriter();
    for (let n = 0; n < nodeCount; n++) {
      for (let i = reads.start[n]; i < reads.start[n + 1]; i++)
        if (lastUser[reads.values[i]] === n) lastUsed.push(reads.values[i]);
      lastUsed.endRow();
    }
    this.storageToAllocator = allocator;
    this.storageToLastUser = lastUser;
    this.storageToUses = transposeRows(reads, storages.count);
    this.freshAllocations = fresh.rows();
    this.lastUsed = lastUsed.rows();
  }

  /** Returns the storages that `node` allocates, in the order of its outputs. */
  getFreshAllocations(node: number): Int32Array {
    return row(this.freshAllocations, node);
  }

  /** Returns the storages that `node` reads, each once, in the order of its inputs. */
  getStorageUses(node: number): Int32Array {
    return row(this.graph.reads, node);
  }

  /** Returns the storages that `node` is the last to read. */
  getStoragesLastUsed(node: number): Int32Array {
    return row(this.lastUsed, node);
  }

  /** Returns the nodes that read `storage`, in order. */
  getUsers(storage: StorageKey): Int32Array {
    return row(this.storageToUses, storage);
  }
}
