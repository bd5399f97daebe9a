import { type OpIndex, row, type StorageIndex, type Trace } from "@remat/trace";
import { type Graph, NodeKind, type StorageKey } from "./graph.js";
import { RowsWriter } from "./rows-writer.js";
import { forEachStorage, forEachStorageOf, originsOfStorages, type StorageOrigins } from "./storage-origins.js";

/** Options for {@link graphOfTrace}. */
export interface GraphOfTraceOptions {
  /** The phases (`Phase`) of the ops to include, for a forward or a backward graph. Default: all ops. */
  readonly phases?: readonly number[];
  /**
   * Returns whether `storage` is a result for the caller, which outlives the graph. Default: true for storages that the
   * trace never frees.
   */
  readonly isResult?: (storage: StorageKey) => boolean;
  /** Returns whether `storage` counts as created by no op, even if an op writes into it. Default: always false. */
  readonly isSource?: (storage: StorageKey) => boolean;
}

/** A graph whose nodes refer to the ops and storages of a trace. */
export interface TraceGraph extends Graph {
  /** The op of each node, or -1. */
  readonly ops: Int32Array;
  /** The storage that a node without an op represents, or -1. */
  readonly sources: Int32Array;
}

/**
 * Returns the graph of a trace, with *needed* lifetimes (rule T3 of `ARCHITECTURE.md`): from the op that allocates a
 * storage to the op that reads it last, instead of to the moment when the engine frees it. Sizes are rounded up to the
 * allocation unit. A storage that is resized counts with its largest size.
 *
 * Storages that exist before the first op are placeholders and stay alive. Other storages that no op makes (constants
 * filled by JavaScript) are nodes without inputs at the point where they appear. Storages that an op allocates and
 * frees itself, or that no op reads, are freed with the op that allocates them. An output node reads the storages that
 * outlive the graph.
 *
 * With `phases`, storages made by other ops are placeholders that may be released, and storages that other ops read
 * afterwards are outputs. Graphs of several phases share their storages, as `getPeakMemory` requires.
 *
 * @example
 * const profile = buildMemoryProfile(graphOfTrace(trace));
 */
export function graphOfTrace(trace: Trace, options: GraphOfTraceOptions = {}): TraceGraph {
  const { count, phase } = trace.ops;
  const { phases } = options;
  const selected = new Uint8Array(count + 1);
  let last = -1;
  for (let op = 0; op < count; op++)
    if (phases === undefined || phases.includes(phase[op])) {
      selected[op] = 1;
      last = op;
    }
  // Storages that appear after the last op belong to it.
  if (last === count - 1) selected[count] = 1;

  const origins = originsOfStorages(trace, options.isSource);
  const builder = new TraceGraphBuilder(
    trace,
    selected,
    origins,
    options.isResult ?? ((storage) => origins.freed[storage] === 0),
  );
  builder.addCallers();
  // If all ops are selected, only the caller's storages exist before them.
  if (selected.includes(0)) builder.addPlaceholders();
  for (let op = 0; op < count; op++)
    if (selected[op] === 1) {
      builder.addSources(op);
      builder.addOp(op);
    }
  if (selected[count] === 1) builder.addSources(count);
  builder.addOutput(last);
  return builder.graph();
}

class TraceGraphBuilder {
  private readonly trace: Trace;
  private readonly selected: Uint8Array;
  private readonly origins: StorageOrigins;
  private readonly isResult: (storage: StorageKey) => boolean;
  private nodeCount = 0;
  private readonly kinds: Uint8Array;
  private readonly held: Uint8Array;
  private readonly ops: Int32Array;
  private readonly sources: Int32Array;
  private readonly inputs: RowsWriter;
  private readonly outputs: RowsWriter;
  private readonly reads: RowsWriter;
  /** The first node that has each storage, and the last node that has made each tensor, or -1 for none so far. */
  private readonly nodeOfStorage: Int32Array;
  private readonly nodeOfTensor: Int32Array;
  /** For each storage and node, the node in whose row it already is, so that each appears in a row only once. */
  private readonly readBy: Int32Array;
  private readonly madeBy: Int32Array;
  private readonly inputOf: Int32Array;

  constructor(trace: Trace, selected: Uint8Array, origins: StorageOrigins, isResult: (storage: StorageKey) => boolean) {
    const storageCount = trace.storages.count;
    // Each storage and each op has at most one node, and the output is one more.
    const mostNodes = storageCount + trace.ops.count + 1;
    this.kinds = new Uint8Array(mostNodes);
    this.held = new Uint8Array(mostNodes);
    this.ops = new Int32Array(mostNodes);
    this.sources = new Int32Array(mostNodes);
    const rows = trace.ops.count;
    this.inputs = new RowsWriter({ rows, values: trace.ops.inputs.values.length });
    this.outputs = new RowsWriter({ rows, values: storageCount });
    this.reads = new RowsWriter({ rows, values: trace.ops.inputs.values.length });
    this.trace = trace;
    this.selected = selected;
    this.origins = origins;
    this.isResult = isResult;
    this.nodeOfStorage = new Int32Array(storageCount).fill(-1);
    this.nodeOfTensor = new Int32Array(trace.tensors.count).fill(-1);
    this.readBy = new Int32Array(storageCount).fill(-1);
    this.madeBy = new Int32Array(storageCount).fill(-1);
    this.inputOf = new Int32Array(mostNodes).fill(-1);
  }

  private readonly addReadByNext = (storage: StorageIndex): void => this.addRead(storage, this.nodeCount);
  private readonly addMadeByNext = (storage: StorageIndex): void => this.addMade(storage, this.nodeCount);

  /** Adds placeholders for the storages of the caller, if the first op is selected. */
  addCallers(): void {
    if (this.selected[0] === 0) return;
    for (const storage of row(this.origins.sources, 0)) this.addSource(storage, NodeKind.placeholder, 1);
  }

  /**
   * Adds placeholders for the other storages that exist before the selected ops: storages of the caller that selected
   * ops use, and storages that other ops create and selected ops use.
   */
  addPlaceholders(): void {
    const { trace, selected, origins } = this;
    const callers = new Uint8Array(trace.storages.count);
    for (const storage of row(origins.sources, 0)) callers[storage] = 1;
    const visit = (storage: StorageIndex) => {
      if (this.nodeOfStorage[storage] >= 0) return;
      if (callers[storage] === 1 || selected[origins.birthOp[storage]] === 0)
        this.addSource(storage, NodeKind.placeholder, callers[storage]);
    };
    for (let op = 0; op < trace.ops.count; op++) {
      if (selected[op] === 0) continue;
      forEachStorage(trace, trace.ops.inputs, op, visit);
      forEachStorage(trace, trace.ops.outputs, op, visit);
    }
  }

  addSources(op: OpIndex): void {
    const { start, values } = this.origins.sources;
    for (let i = start[op]; i < start[op + 1]; i++)
      if (this.nodeOfStorage[values[i]] < 0) this.addSource(values[i], NodeKind.compute, 0);
  }

  addOp(op: OpIndex): void {
    const { trace } = this;
    const node = this.nodeCount;
    const { inputs, outputs } = trace.ops;
    for (let i = inputs.start[op]; i < inputs.start[op + 1]; i++) {
      const tensor = inputs.values[i];
      const maker = this.nodeOfTensor[tensor];
      if (maker >= 0) this.addInput(maker, node);
      else forEachStorageOf(trace, tensor, (storage) => this.addInput(this.nodeOfStorage[storage], node));
    }
    forEachStorage(trace, inputs, op, this.addReadByNext);
    for (let i = outputs.start[op]; i < outputs.start[op + 1]; i++) this.nodeOfTensor[outputs.values[i]] = node;
    forEachStorage(trace, outputs, op, this.addMadeByNext);
    const { start, values } = this.origins.workspaces;
    for (let i = start[op]; i < start[op + 1]; i++) this.addMade(values[i], node);
    this.endNode(NodeKind.compute, 0, op, -1);
  }

  /**
   * Adds the output node, which reads the caller's storages, storages read by ops after `lastOp`, and storages that
   * outlive the trace.
   */
  addOutput(lastOp: number): void {
    const { trace, nodeOfStorage } = this;
    const node = this.nodeCount;
    const readLater = new Uint8Array(trace.storages.count);
    for (let op = lastOp + 1; op < trace.ops.count; op++)
      forEachStorage(trace, trace.ops.inputs, op, (storage) => (readLater[storage] = 1));
    for (let storage = 0; storage < trace.storages.count; storage++) {
      const maker = nodeOfStorage[storage];
      if (maker < 0 || !(readLater[storage] === 1 || this.held[maker] === 1 || this.isResult(storage))) continue;
      this.addInput(maker, node);
      this.addRead(storage, node);
    }
    this.endNode(NodeKind.output, 0, -1, -1);
  }

  graph(): TraceGraph {
    const { trace, origins, nodeCount } = this;
    const { names, device } = devicesOf(trace);
    const ops = this.ops.slice(0, nodeCount);
    const sources = this.sources.slice(0, nodeCount);
    return {
      nodeCount,
      kinds: this.kinds.slice(0, nodeCount),
      inputs: this.inputs.rows(),
      outputs: this.outputs.rows(),
      reads: this.reads.rows(),
      storages: { count: device.length, bytes: origins.bytes, device },
      devices: names,
      device: trace.header.device,
      held: this.held.slice(0, nodeCount),
      ops,
      sources,
      nodeName: (node) =>
        ops[node] >= 0
          ? `${trace.opName(ops[node])}#${ops[node]}`
          : sources[node] >= 0
            ? `storage#${sources[node]}`
            : "output",
    };
  }

  private addSource(storage: StorageIndex, kind: number, held: number): void {
    const node = this.nodeCount;
    if (kind === NodeKind.compute) this.addMade(storage, node);
    else this.addOutputStorage(storage, node);
    this.endNode(kind, held, -1, storage);
  }

  private endNode(kind: number, held: number, op: OpIndex, source: number): void {
    const node = this.nodeCount++;
    this.kinds[node] = kind;
    this.held[node] = held;
    this.ops[node] = op;
    this.sources[node] = source;
    this.inputs.endRow();
    this.outputs.endRow();
    this.reads.endRow();
  }

  private addInput(maker: number, node: number): void {
    if (maker < 0 || this.inputOf[maker] === node) return;
    this.inputOf[maker] = node;
    this.inputs.push(maker);
  }

  private addRead(storage: StorageIndex, node: number): void {
    if (this.readBy[storage] === node) return;
    this.readBy[storage] = node;
    this.reads.push(storage);
  }

  private addMade(storage: StorageIndex, node: number): void {
    // If nothing reads a storage, the node that makes it counts as its last use, and frees it.
    if (this.origins.read[storage] === 0 && !this.isResult(storage)) this.addRead(storage, node);
    this.addOutputStorage(storage, node);
  }

  private addOutputStorage(storage: StorageIndex, node: number): void {
    if (this.madeBy[storage] === node) return;
    this.madeBy[storage] = node;
    if (this.nodeOfStorage[storage] < 0) this.nodeOfStorage[storage] = node;
    this.outputs.push(storage);
  }
}

/** Returns the names of the devices, and for each storage the number of its device among these. */
function devicesOf(trace: Trace): { readonly names: readonly string[]; readonly device: Int32Array } {
  const { count, device } = trace.storages;
  const names: string[] = [];
  const numbers = new Int32Array(trace.strings.length).fill(-1);
  const numbered = new Int32Array(count);
  for (let storage = 0; storage < count; storage++) {
    const string = device[storage];
    if (numbers[string] < 0) numbers[string] = names.push(trace.strings[string]) - 1;
    numbered[storage] = numbers[string];
  }
  return { names, device: numbered };
}
