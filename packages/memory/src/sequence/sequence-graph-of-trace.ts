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

/** Options for {@link sequenceGraphOfTrace}. */
export interface SequenceGraphOptions {
  /**
   * Returns whether `op` may be recomputed. Default: true for forward ops that are neither random nor effectful, and
   * false for backward and optimizer ops.
   */
  readonly isReplayable?: (op: OpIndex) => boolean;
}

/** A sequence graph whose nodes refer to the ops and storages of a trace. */
export interface TraceSequenceGraph extends SequenceGraph {
  /**
   * The trace with the storages used here. A storage that is resized to zero in between is split into one storage per
   * life. Saved tensors share the data that they were saved from.
   */
  readonly trace: Trace;
  /**
   * The op of each node in the original order. -1 for a storage that no op makes, and for the release of storages that
   * the previous op keeps alive without reading them.
   */
  readonly opOfNode: Int32Array;
  /** The ops that run if a node runs again: its op, and the in-place ops that complete its result. */
  readonly replayOps: Rows;
  /** The storage of each value. */
  readonly storageOfValue: Int32Array;
  /** 1 for a node that can be recomputed. */
  readonly repeatable: Uint8Array;
  /**
   * 1 for a node whose value can be offloaded: a single storage of plain numbers that a forward op creates and its pass
   * frees.
   */
  readonly offloadable: Uint8Array;
  /** 1 for an in-place op that is recomputed with the node whose value it completes. */
  readonly isFinishing: Uint8Array;
  /** The storages that are alive all the time, which make up `baseBytes`. */
  readonly baseStorages: readonly number[];
  /** The size of each of `baseStorages`. */
  readonly baseSizes: Float64Array;
}

/**
 * Returns the sequence graph of a trace of one training step. It is used to compute the memory in use while ops run,
 * some of them several times. A node is an op, and a value is a storage that it allocates, with the needed lifetime
 * (rule T3 of `ARCHITECTURE.md`). A view reads its storage and never needs recomputation. Storages filled by JavaScript
 * are nodes that cannot be recomputed. By default, only pure forward ops can be recomputed. An op that creates a result
 * cannot be recomputed (rule T8), because the result may have become a variable.
 *
 * The memory in use is that of an executor that follows a plan inside `engine.gradients`. Outputs of ops inside it are
 * freed when they are no longer needed. All other storages are freed when the engine frees them. The scratch memory of
 * a kernel counts with its highest amount. Only storages on the trace's device count, with the sizes that this device
 * allocates. Storages on other devices are values of 0 bytes.
 *
 * Weights, optimizer slots and inputs that the trace never frees are part of `baseBytes`. If the trace frees one, it is
 * alive until then. An in-place op is recomputed together with the op whose storage it writes into, if no op reads the
 * storage in between, and the other inputs of the in-place op exist before. Otherwise neither op is recomputed.
 *
 * @example
 * const graph = sequenceGraphOfTrace(trace);
 * holdSequence(graph, Int32Array.from({ length: graph.nodeCount }, (_, node) => node))?.peakBytes; // nothing recomputed
 */
export function sequenceGraphOfTrace(trace: Trace, options: SequenceGraphOptions = {}): TraceSequenceGraph {
  return new TraceSequence(trace, options.isReplayable ?? ((op) => isPureForward(trace, op))).build();
}

/** Returns whether an op is a forward op that gives the same result when it is recomputed, without side effects. */
export function isPureForward({ ops }: Trace, op: OpIndex): boolean {
  return ops.phase[op] === Phase.forward && (ops.flags[op] & (OpFlag.random | OpFlag.effectful | OpFlag.source)) === 0;
}

class TraceSequence {
  private readonly trace: Trace;
  private readonly graph: TraceGraph;
  private readonly isReplayable: (op: OpIndex) => boolean;
  private readonly aliases: GraphAliasTracker;
  private readonly lifetimes: EngineLifetimes;
  /** For each storage, its size as the trace's device allocates it. */
  private readonly bytes: Float64Array;
  private readonly isResult: Uint8Array;
  /** The value of each storage, or -1 for the caller's storages, which are alive all the time. */
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
  /** Storages that JavaScript has created since the last op and that no op reads. */
  private unread: number[] = [];
  /**
   * For each storage, the last node (counted from 1) that has it as an output, and the last node that must not read it
   * again.
   */
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
    /** Storages that the trace frees after each op. That op counts as the last one to need them. */
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
          // The graph returns the caller's storages, but this one is freed by the end.
          this.isResult[storage] = 0;
          this.addWithoutOp([storage]);
          if (lifetimes.heldUntil[storage] < 0) goWith(freedAfter, storage);
        }
      } else if (graph.kinds[n] === NodeKind.compute) {
        if (op >= 0) this.addOp(n, op, inPlace, goesWith.get(op));
        else if (lifetimes.isFound[storage] === 1) this.baseStorages.push(storage);
        else {
          this.addWithoutOp([storage]);
          // If no op reads it, its node is its only reader. It is alive while the next op runs.
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

  /**
   * Adds a node that releases storages that an op keeps alive without reading them. They are released after the op's
   * first run, because they need not exist when the op runs again.
   */
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

  /** Adds a read of a storage, once per node. Reads of the node's own outputs are not added. */
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

/** Dtypes of TensorFlow.js with one number per element, whose bits are the same on the device and in host memory. */
const plainDtypes: ReadonlySet<string> = new Set(["float32", "int32", "bool"]);

/** Copies rows without their spare capacity, since planners copy graphs to their workers. */
function compact(writer: RowsWriter): Rows {
  const { start, values } = writer.rows();
  return { start: start.slice(), values: values.slice() };
}
