import { OpFlag, type OpIndex, Phase, type Rows, row, type StorageIndex, type Trace } from "@remat/trace";
import { countedBytes, NodeKind } from "../graph/graph.js";
import { GraphAliasTracker } from "../graph/graph-alias-tracker.js";
import { graphOfTrace, type TraceGraph } from "../graph/graph-of-trace.js";
import { RowsWriter } from "../graph/rows-writer.js";
import { type EngineLifetimes, engineLifetimes } from "./engine-lifetimes.js";
import { type InPlaceOps, inPlaceOps } from "./in-place-ops.js";
import { separateLives } from "./separate-lives.js";
import type { SequenceGraph } from "./sequence-graph.js";
import { withSharedSaves } from "./with-shared-saves.js";

export interface SequenceGraphOptions {
  /**
   * Whether `op` may be recomputed. Left out: ops of the forward pass that are neither random nor effectful; what the backward pass and the
   * optimizer compute is never made twice.
   */
  readonly isReplayable?: (op: OpIndex) => boolean;
}

/** A sequence graph whose nodes know what of the trace they are. */
export interface TraceSequenceGraph extends SequenceGraph {
  /**
   * The trace as the storages below are counted: each life of one that is resized to nothing in between is a storage of its own, and what autograd
   * saves is on the data that it was saved of.
   */
  readonly trace: Trace;
  /** The op that each node is in the plain order, or -1 for a storage that no op makes, and for the release of what the op before holds without reading it. */
  readonly opOfNode: Int32Array;
  /** What running a node again runs: its op, and the in-place ops that finish what it makes. */
  readonly replayOps: Rows;
  /** The storage that each value is. */
  readonly storageOfValue: Int32Array;
  /** 1 for a node that can be recomputed. */
  readonly repeatable: Uint8Array;
  /** 1 for a node whose value can be offloaded: one storage of plain numbers that an op of the forward pass makes, and that its pass frees. */
  readonly offloadable: Uint8Array;
  /** 1 for an in-place op that is recomputed with the node whose value it finishes. */
  readonly isFinishing: Uint8Array;
  /** The storages that are held all the time: those of `baseBytes`. */
  readonly baseStorages: readonly number[];
  /** What each of them counts for. */
  readonly baseSizes: Float64Array;
}

/**
 * Returns what can be held in a trace of one training step while its ops run, some of them again. A node is an op, a value a storage that it
 * allocates, with the needed lifetime (trace rule T3). A view reads its storage, and never needs recomputation. What JavaScript filled is a node
 * that cannot be recomputed, as is, by default, everything but pure forward ops, and whatever makes a result (trace rule T8): a result may be a
 * variable by now.
 *
 * What is held is what an executor holds that follows a plan inside `engine.gradients`: outputs of ops in it go when they are not needed, all
 * else when the engine frees it, and a kernel's scratch counts with the most of it that there is at once. Only what lies on the trace's
 * device counts, as that device allocates it; storages on others are values of 0 bytes.
 *
 * Weights, optimizer slots and inputs that the trace never frees are `baseBytes`; those that it frees are held until then. An in-place op
 * is recomputed together with the op whose storage it writes into, where nothing reads the storage in between and its other inputs are
 * there before; otherwise neither is recomputed.
 *
 * @example
 * const graph = sequenceGraphOfTrace(trace);
 * holdSequence(graph, Int32Array.from({ length: graph.nodeCount }, (_, node) => node))?.peakBytes; // nothing recomputed
 */
export function sequenceGraphOfTrace(trace: Trace, options: SequenceGraphOptions = {}): TraceSequenceGraph {
  return new TraceSequence(trace, options.isReplayable ?? ((op) => isPureForward(trace, op))).build();
}

/** Tells whether an op is one of the forward pass that gives the same when it is recomputed, and does nothing else. */
export function isPureForward({ ops }: Trace, op: OpIndex): boolean {
  return ops.phase[op] === Phase.forward && (ops.flags[op] & (OpFlag.random | OpFlag.effectful | OpFlag.source)) === 0;
}

class TraceSequence {
  private readonly trace: Trace;
  private readonly graph: TraceGraph;
  private readonly isReplayable: (op: OpIndex) => boolean;
  private readonly aliases: GraphAliasTracker;
  private readonly lifetimes: EngineLifetimes;
  /** By storage: as the trace's device allocates it. */
  private readonly bytes: Float64Array;
  private readonly isResult: Uint8Array;
  /** The value that each storage is; -1 for the caller's, which are there all the time. */
  private readonly valueOfStorage: Int32Array;
  private readonly inputs = new RowsWriter();
  private readonly outputs = new RowsWriter();
  private readonly replayOps = new RowsWriter();
  private readonly opOfNode: number[] = [];
  private readonly workspaceBytes: number[] = [];
  private readonly repeatable: number[] = [];
  private readonly offloadable: number[] = [];
  private readonly isFinishing: number[] = [];
  private readonly storageOfValue: number[] = [];
  private readonly baseStorages: number[] = [];
  /** What JavaScript has made since the last op, and nothing reads. */
  private unread: number[] = [];
  /** By storage: the last node, from 1 on, that it was an output of, and that it was no longer to be read by. */
  private readonly outputOf: Int32Array;
  private readonly settledFor: Int32Array;

  constructor(trace: Trace, isReplayable: (op: OpIndex) => boolean) {
    const lives = separateLives(withSharedSaves(trace));
    const graph = graphOfTrace(lives.trace, { isSource: (storage) => lives.isResumed[storage] === 1 });
    this.trace = lives.trace;
    this.graph = graph;
    this.bytes = countedBytes(graph, {});
    this.lifetimes = engineLifetimes(lives.trace, this.bytes);
    this.isReplayable = (op) => this.lifetimes.isInPass[op] === 1 && isReplayable(op);
    this.aliases = new GraphAliasTracker(graph);
    this.valueOfStorage = new Int32Array(graph.storages.count).fill(-1);
    this.isResult = new Uint8Array(graph.storages.count);
    this.outputOf = new Int32Array(graph.storages.count);
    this.settledFor = new Int32Array(graph.storages.count);
    for (const storage of row(graph.reads, graph.nodeCount - 1)) this.isResult[storage] = 1;
  }

  build(): TraceSequenceGraph {
    const { graph, trace, lifetimes } = this;
    const inPlace = inPlaceOps(trace, graph, this.aliases, this.isReplayable);
    /** Storages that the trace frees after an op: that op is the last to need them. */
    const goesWith = new Map<number, number[]>();
    const goWith = (op: OpIndex, storage: StorageIndex): void => {
      const list = goesWith.get(op);
      if (list === undefined) goesWith.set(op, [storage]);
      else list.push(storage);
    };
    lifetimes.heldUntil.forEach((op, storage) => {
      if (op >= 0) goWith(op, storage);
    });
    for (let n = 0; n < graph.nodeCount; n++) {
      const storage = graph.sources[n];
      const op = graph.ops[n];
      if (graph.kinds[n] === NodeKind.placeholder) {
        const freedAfter = lifetimes.freedAfter[storage];
        if (freedAfter < 0) this.baseStorages.push(storage);
        else {
          // The graph hands the caller's back; this one is gone by the end.
          this.isResult[storage] = 0;
          this.addWithoutOp([storage]);
          if (lifetimes.heldUntil[storage] < 0) goWith(freedAfter, storage);
        }
      } else if (graph.kinds[n] === NodeKind.compute) {
        if (op >= 0) this.addOp(n, op, inPlace, goesWith.get(op));
        else if (lifetimes.isFound[storage] === 1) this.baseStorages.push(storage);
        else {
          this.addWithoutOp([storage]);
          // Its node is its only reader where no op reads it; it is there while the next op runs.
          if (row(graph.reads, n).length > 0) this.unread.push(storage);
        }
      }
    }
    const { bytes, storageOfValue, baseStorages } = this;
    const baseSizes = Float64Array.from(baseStorages, (storage) => bytes[storage]);
    return {
      nodeCount: this.opOfNode.length,
      valueCount: storageOfValue.length,
      workspaceBytes: Float64Array.from(this.workspaceBytes),
      outputs: compact(this.outputs),
      inputs: compact(this.inputs),
      bytes: Float64Array.from(storageOfValue, (storage) => bytes[storage]),
      result: Uint8Array.from(storageOfValue, (storage) => this.isResult[storage]),
      baseBytes: baseSizes.reduce((sum, size) => sum + size, 0),
      trace,
      opOfNode: Int32Array.from(this.opOfNode),
      replayOps: compact(this.replayOps),
      storageOfValue: Int32Array.from(storageOfValue),
      repeatable: Uint8Array.from(this.repeatable),
      offloadable: Uint8Array.from(this.offloadable),
      isFinishing: Uint8Array.from(this.isFinishing),
      baseStorages,
      baseSizes,
    };
  }

  private addWithoutOp(made: readonly number[]): void {
    this.addNode(-1, made);
    this.workspaceBytes.push(0);
    this.repeatable.push(0);
    this.offloadable.push(0);
    this.isFinishing.push(0);
    this.replayOps.endRow();
  }

  private addOp(n: number, op: OpIndex, inPlace: InPlaceOps, goesWith: readonly number[] | undefined): void {
    const { graph, trace, lifetimes, outputOf, settledFor } = this;
    const node = n + 1;
    const made: number[] = [];
    for (const tensor of trace.opOutputs(op))
      for (const storage of trace.tensorStorages(tensor)) outputOf[storage] = node;
    for (const storage of this.aliases.getFreshAllocations(n)) {
      settledFor[storage] = node;
      if (outputOf[storage] === node) made.push(storage);
    }
    const canRepeat =
      this.isReplayable(op) &&
      inPlace.isWriter[op] === 0 &&
      inPlace.isPinned[op] === 0 &&
      made.every((storage) => this.isResult[storage] === 0 && lifetimes.isSurvivor[storage] === 0);
    const passing = [...(goesWith ?? []), ...this.unread.splice(0)];
    if (!canRepeat) for (const storage of passing) this.read(storage, node);
    for (const storage of row(graph.reads, n)) this.read(storage, node);
    const finishing = inPlace.finishedBy.get(op);
    if (finishing !== undefined)
      for (const writer of finishing) for (const storage of inPlace.otherReads(writer)) this.read(storage, node);
    const held = passing.filter((storage) => settledFor[storage] !== node && this.valueOfStorage[storage] >= 0);
    this.addNode(op, made);
    this.workspaceBytes.push(lifetimes.scratchBytes[op]);
    this.isFinishing.push(inPlace.isMerged[op]);
    this.repeatable.push(canRepeat ? 1 : 0);
    this.offloadable.push(this.canOffload(op, made) && inPlace.isWriter[op] === 0 && finishing === undefined ? 1 : 0);
    this.replayOps.push(op);
    if (finishing !== undefined) for (const writer of finishing) this.replayOps.push(writer);
    this.replayOps.endRow();
    if (canRepeat && held.length > 0) this.addRelease(held);
  }

  /** What is held while an op runs that does not read it goes after its first run: when the op runs again, it need not be there. */
  private addRelease(storages: readonly StorageIndex[]): void {
    for (const storage of storages) this.inputs.push(this.valueOfStorage[storage]);
    this.addWithoutOp([]);
  }

  private canOffload(op: OpIndex, made: readonly number[]): boolean {
    const { trace, lifetimes } = this;
    if (made.length !== 1 || trace.ops.phase[op] !== Phase.forward || lifetimes.isInPass[op] === 0) return false;
    const [storage] = made;
    if (this.bytes[storage] === 0 || this.isResult[storage] === 1 || lifetimes.isSurvivor[storage] === 1) return false;
    return trace
      .opOutputs(op)
      .every(
        (tensor) =>
          !trace.tensorStorages(tensor).includes(storage) ||
          plainDtypes.has(trace.strings[trace.tensors.dtype[tensor]]),
      );
  }

  /** Once for each node, and nothing that the node makes. */
  private read(storage: StorageIndex, node: number): void {
    if (this.settledFor[storage] === node) return;
    this.settledFor[storage] = node;
    if (this.valueOfStorage[storage] >= 0) this.inputs.push(this.valueOfStorage[storage]);
  }

  private addNode(op: OpIndex, made: readonly number[]): void {
    this.inputs.endRow();
    for (const storage of made) {
      this.valueOfStorage[storage] = this.storageOfValue.length;
      this.outputs.push(this.storageOfValue.length);
      this.storageOfValue.push(storage);
    }
    this.outputs.endRow();
    this.opOfNode.push(op);
  }
}

/** Of tfjs: a number each, whose bits are the same on the device and in host memory. */
const plainDtypes: ReadonlySet<string> = new Set(["float32", "int32", "bool"]);

/** Without the room to grow, since planners copy graphs to their workers. */
function compact(writer: RowsWriter): Rows {
  const { start, values } = writer.rows();
  return { start: start.slice(), values: values.slice() };
}
