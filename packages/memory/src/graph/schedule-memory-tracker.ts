import { RematError } from "@remat/trace";
import {
  countedBytes,
  type Graph,
  type IsReleasable,
  isGiven,
  type MemoryOptions,
  NodeKind,
  releasability,
} from "./graph.js";
import { GraphAliasTracker } from "./graph-alias-tracker.js";

/**
 * Memory of a graph whose nodes run in another order than its own: schedule them one by one and read what is alive. Scheduling a node
 * costs its own inputs and outputs, whatever the size of the graph.
 *
 * Source: `MemoryTracker` of torch/_inductor/fx_passes/memory_estimator.py (2.13).
 *
 * @example
 * const tracker = new ScheduleMemoryTracker(graph);
 * for (const node of order) tracker.scheduleNode(node);
 * console.log(tracker.peakBytes);
 */
export class ScheduleMemoryTracker {
  readonly graph: Graph;
  readonly aliases: GraphAliasTracker;
  private readonly bytes: Float64Array;
  private readonly isReleasable: IsReleasable;
  private readonly isCounted: Uint8Array;
  private readonly scheduled: Uint8Array;
  private readonly live: Uint8Array;
  /** Per storage, how many of its users are yet to run. */
  private readonly usesLeft: Int32Array;
  private current = 0;
  private peak = 0;

  constructor(graph: Graph, options: MemoryOptions = {}, aliases: GraphAliasTracker = new GraphAliasTracker(graph)) {
    this.graph = graph;
    this.aliases = aliases;
    this.bytes = countedBytes(graph, options);
    // A storage of no bytes is live or not like any other; one on a device that is filtered out is neither.
    this.isCounted = Uint8Array.from(countedBytes(graph, { ...options, sizeOf: () => 1 }));
    this.isReleasable = releasability(graph, options);
    this.scheduled = new Uint8Array(graph.nodeCount);
    this.live = new Uint8Array(graph.storages.count);
    this.usesLeft = new Int32Array(graph.storages.count);
    const { start } = aliases.storageToUses;
    for (let s = 0; s < graph.storages.count; s++) this.usesLeft[s] = start[s + 1] - start[s];
    for (let n = 0; n < graph.nodeCount; n++) if (isGiven(graph.kinds[n])) this.allocate(n);
    this.peak = this.current;
  }

  /** Bytes alive after the nodes scheduled so far. */
  get currentBytes(): number {
    return this.current;
  }

  /** The most bytes alive at any moment so far. */
  get peakBytes(): number {
    return this.peak;
  }

  /** The storages alive now, ascending. Costs the whole table. */
  liveStorages(): number[] {
    const alive: number[] = [];
    for (let s = 0; s < this.live.length; s++) if (this.live[s] === 1) alive.push(s);
    return alive;
  }

  /**
   * Runs `node` next.
   * @throws RematError `SCHEDULE` where it has run, does not exist, or reads memory that is not there: an input has not run yet.
   */
  scheduleNode(node: number): void {
    const { graph, live, usesLeft, isCounted } = this;
    if (!(node >= 0 && node < graph.nodeCount && Number.isInteger(node)))
      throw new RematError("SCHEDULE", `node ${node} does not exist; the graph has nodes 0 to ${graph.nodeCount - 1}`);
    if (this.scheduled[node] === 1)
      throw new RematError("SCHEDULE", `node '${graph.nodeName(node)}' is scheduled twice; schedule each node once`);
    const computes = graph.kinds[node] === NodeKind.compute;
    const { start, values } = graph.reads;
    if (computes) this.checkInputs(node);
    this.scheduled[node] = 1;
    if (computes) this.allocate(node);
    if (this.current > this.peak) this.peak = this.current;
    for (let i = start[node]; i < start[node + 1]; i++) {
      const storage = values[i];
      if (--usesLeft[storage] > 0 || !computes || isCounted[storage] === 0 || live[storage] === 0) continue;
      if (!this.isReleasable(this.aliases.storageToAllocator[storage])) continue;
      live[storage] = 0;
      this.current -= this.bytes[storage];
    }
  }

  private allocate(node: number): void {
    for (const storage of this.aliases.getFreshAllocations(node)) {
      if (this.isCounted[storage] === 0) continue;
      this.live[storage] = 1;
      this.current += this.bytes[storage];
    }
  }

  private checkInputs(node: number): void {
    const { graph, live, isCounted } = this;
    const { start, values } = graph.reads;
    for (let i = start[node]; i < start[node + 1]; i++) {
      const storage = values[i];
      const allocator = this.aliases.storageToAllocator[storage];
      if (live[storage] === 1 || isCounted[storage] === 0 || allocator === node) continue;
      throw new RematError(
        "SCHEDULE",
        `node '${graph.nodeName(node)}' reads storage ${storage}, which is not alive` +
          (allocator < 0 ? "; no node of the graph makes it" : `; schedule '${graph.nodeName(allocator)}' before it`),
      );
    }
  }
}
