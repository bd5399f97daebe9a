import { row, type StorageIndex } from "@remat/trace";
import { forEachLife, LifeSums } from "../sequence/hold-sequence.js";
import { buildGraph, type GraphNodeRecord, type GraphRecord } from "./build-graph.js";
import { countedBytes, type Graph, isGiven, NodeKind } from "./graph.js";
import { GraphAliasTracker } from "./graph-alias-tracker.js";
import { RowsWriter } from "./rows-writer.js";

/** A node of a compiled graph. */
export interface CompiledNodeRecord extends GraphNodeRecord {
  /** For a placeholder, whether its value persists from step to step, like weights and buffers. */
  readonly isStatic?: boolean;
}

/**
 * The graphs that a model is compiled into, over one table of storages. The forward graphs are in order, each with its
 * backward graph if it has one.
 */
export interface CompiledRecord {
  readonly storages: GraphRecord["storages"];
  readonly graphs: readonly {
    readonly forward: readonly CompiledNodeRecord[];
    readonly backward: readonly CompiledNodeRecord[] | undefined;
  }[];
  /**
   * The storages of the model's results. Default: all outputs of forward graphs that their backward graphs do not read.
   */
  readonly results?: readonly number[] | undefined;
  /** The storages of gradients that are added to an existing gradient and freed with their graph. Default: none. */
  readonly added?: readonly number[] | undefined;
}

/** A pass of one graph of a compiled model. */
export interface CompiledPass {
  readonly graph: number;
  readonly pass: "forward" | "backward";
}

/** Memory of a step through all graphs of a compiled model, in bytes. */
export interface CompiledStepMemory {
  readonly peakBytes: number;
  /**
   * The place of the peak: the graph, and the node whose allocations reach the peak. The node is undefined at the
   * beginning or end of a graph.
   */
  readonly peakAt: CompiledPass & { readonly node: string | undefined };
  /** Outputs of forward graphs that their backward graphs read. */
  readonly savedBytes: number;
  /** Weights and buffers, or 0 if the file does not identify them. */
  readonly staticBytes: number;
  /** Other arguments from the caller, which are inputs. */
  readonly inputBytes: number;
}

/** Returns the device whose storages use the most memory. */
export function busiestDevice(storages: CompiledRecord["storages"]): string {
  const held = new Map<string, number>();
  for (const { bytes, device } of storages) held.set(device, (held.get(device) ?? 0) + bytes);
  return [...held].sort(([, a], [, b]) => b - a).at(0)?.[0] ?? "cpu";
}

/**
 * Returns the memory of a training step through the graphs of a compiled model, on the device that uses the most. The
 * forward graphs run one after the other, then the backward graphs from the last to the first.
 *
 * Within a graph the rules of `buildMemoryProfile` and `getFwdBwdInteractions` apply. Arguments from the caller are
 * live all the time. Results of the model and gradients of weights are live to the end of the step. Values passed
 * between graphs are live until their last reader. Gradients of outputs are also live until their last reader, except
 * the gradient of the loss. For one forward and one backward graph, the peak is that of `getPeakMemory`, with one
 * exception: weights also count in a backward pass that does not read them.
 *
 * @throws RematError `GRAPH_NODE`, `GRAPH_STORAGE`
 * @example
 * holdCompiledStep(readFxGraphs(file)).savedBytes;
 */
export function holdCompiledStep({ storages, graphs, results, added }: CompiledRecord): CompiledStepMemory {
  const device = busiestDevice(storages);
  const pairs = graphs.map(({ forward, backward }) => ({
    forward: buildGraph({ storages, nodes: forward, device }),
    backward: backward && buildGraph({ storages, nodes: backward, device }),
  }));
  const bytes = countedBytes(pairs[0].forward, {});
  const script = new StepScript(bytes);
  const given = givenStorages(pairs.map(({ forward }) => forward));
  script.step({ graph: 0, pass: "forward" }, undefined, given, []);
  script.keep(given);

  const saved = new Set<number>();
  const takenByBackward = pairs.map(({ backward }) => new Set(backward && storagesOf(backward, isGiven)));
  pairs.forEach(({ forward }, graph) => {
    const handed = handedOut(forward);
    script.run({ graph, pass: "forward" }, forward, handed);
    const isTaken = (storage: StorageIndex): boolean => takenByBackward[graph].has(storage);
    script.keep([...handed].filter((storage) => results?.includes(storage) ?? !isTaken(storage)));
    for (const storage of handed) if (isTaken(storage) && !given.has(storage)) saved.add(storage);
  });
  const held = new Set(heldGradients(pairs, bytes));
  for (let graph = pairs.length - 1; graph >= 0; graph--) {
    const { backward } = pairs[graph];
    if (backward === undefined) continue;
    const gradients = handedOut(backward);
    script.run({ graph, pass: "backward" }, backward, gradients);
    script.keep([...takenByBackward[graph]].filter((storage) => held.has(storage)));
    const isTaken = (storage: StorageIndex): boolean =>
      takenByBackward.slice(0, graph).some((taken) => taken.has(storage));
    script.keep([...gradients].filter((storage) => !isTaken(storage) && added?.includes(storage) !== true));
  }

  const staticStorages = new Set<number>();
  for (const { forward } of graphs)
    for (const node of forward) if (node.isStatic === true) node.outputs?.forEach((s) => staticStorages.add(s));
  const sum = (of: Iterable<number>): number => [...of].reduce((total, storage) => total + bytes[storage], 0);
  const givenBytes = sum(given);
  const staticBytes = sum([...given].filter((storage) => staticStorages.has(storage)));
  return { ...script.peak(), savedBytes: sum(saved), staticBytes, inputBytes: givenBytes - staticBytes };
}

/**
 * Returns the storages passed from outside: constants, and arguments of forward graphs that no earlier graph creates.
 */
function givenStorages(forwards: readonly Graph[]): Set<number> {
  const given = new Set<number>();
  const made = new Set<number>();
  for (const forward of forwards) {
    for (const storage of storagesOf(forward, isGiven)) if (!made.has(storage)) given.add(storage);
    for (const storage of storagesOf(forward, (kind) => kind === NodeKind.compute)) made.add(storage);
  }
  return given;
}

/** Size of the largest number. A loss is a single number. */
const scalarBytes = 8;

/**
 * Returns the gradients of outputs that stay alive through the whole backward pass. This depends on who provides them.
 * If a step returns a number, the backward pass starts from that number, and gradients of its other outputs are zeros
 * created for the graph that reads them. If it returns no number, any of the gradients may belong to the caller.
 * Gradients passed between graphs are excluded.
 */
function heldGradients(
  pairs: readonly { readonly forward: Graph; readonly backward: Graph | undefined }[],
  bytes: Float64Array,
): number[] {
  const handedOn = new Set(pairs.flatMap(({ backward }) => (backward === undefined ? [] : [...handedOut(backward)])));
  const given = pairs.flatMap(({ forward, backward }) => {
    if (backward === undefined) return [];
    const fromForward = handedOut(forward);
    return [...storagesOf(backward, isGiven)].filter((storage) => !fromForward.has(storage) && !handedOn.has(storage));
  });
  const scalars = given.filter((storage) => bytes[storage] > 0 && bytes[storage] <= scalarBytes);
  return scalars.length > 0 ? scalars : given;
}

/** Returns the storages of the results of nodes of some kinds. */
function storagesOf({ nodeCount, kinds, outputs }: Graph, isMeant: (kind: number) => boolean): Set<number> {
  const storages = new Set<number>();
  for (let n = 0; n < nodeCount; n++)
    if (isMeant(kinds[n]))
      for (let i = outputs.start[n]; i < outputs.start[n + 1]; i++) storages.add(outputs.values[i]);
  return storages;
}

/** Returns the storages that the output node reads. */
function handedOut({ nodeCount, kinds, reads }: Graph): Set<number> {
  const storages = new Set<number>();
  for (let n = 0; n < nodeCount; n++)
    if (kinds[n] === NodeKind.output)
      for (let i = reads.start[n]; i < reads.start[n + 1]; i++) storages.add(reads.values[i]);
  return storages;
}

/**
 * Writes the graphs of a step one after the other as one sequence. A value in that sequence is one life of a storage: a
 * tensor that a backward graph recomputes is a different value from the one that the forward graph created.
 */
class StepScript {
  private readonly storageBytes: Float64Array;
  private readonly outputs = new RowsWriter();
  private readonly inputs = new RowsWriter();
  private readonly places: CompiledStepMemory["peakAt"][] = [];
  /** The latest value of each storage, or -1. */
  private readonly valueOf: Int32Array;
  private readonly bytes: number[] = [];
  private readonly kept = new Set<number>();

  constructor(storageBytes: Float64Array) {
    this.storageBytes = storageBytes;
    this.valueOf = new Int32Array(storageBytes.length).fill(-1);
  }

  /** Adds a step that allocates some storages and reads others. */
  step(pass: CompiledPass, node: string | undefined, allocated: Iterable<number>, read: Iterable<number>): void {
    for (const storage of allocated) {
      this.valueOf[storage] = this.bytes.length;
      this.outputs.push(this.bytes.length);
      this.bytes.push(this.storageBytes[storage]);
    }
    for (const storage of read) this.inputs.push(this.valueOf[storage]);
    this.outputs.endRow();
    this.inputs.endRow();
    this.places.push({ ...pass, node });
  }

  /** Adds the nodes of a graph. Storages that nothing in it reads, and those in `held`, stay until its end. */
  run(pass: CompiledPass, graph: Graph, held: Iterable<number>): void {
    const given = storagesOf(graph, isGiven);
    this.step(
      pass,
      undefined,
      [...given].filter((storage) => this.valueOf[storage] < 0),
      [],
    );
    const { freshAllocations, storageToLastUser } = new GraphAliasTracker(graph);
    const unread = new Set<number>();
    for (let n = 0; n < graph.nodeCount; n++) {
      if (graph.kinds[n] !== NodeKind.compute) continue;
      const allocated = row(freshAllocations, n);
      for (const storage of allocated) if (storageToLastUser[storage] < 0) unread.add(storage);
      this.step(pass, graph.nodeName(n), allocated, row(graph.reads, n));
    }
    this.step(pass, undefined, [], new Set([...held, ...unread]));
  }

  /** Keeps the current values of storages alive to the end of the step. */
  keep(storages: Iterable<StorageIndex>): void {
    for (const storage of storages) this.kept.add(this.valueOf[storage]);
  }

  peak(): Pick<CompiledStepMemory, "peakBytes" | "peakAt"> {
    const nodes = Int32Array.from(this.places.keys());
    const valueCount = this.bytes.length;
    const result = new Uint8Array(valueCount);
    for (const value of this.kept) result[value] = 1;
    const graph = {
      nodeCount: nodes.length,
      valueCount,
      workspaceBytes: new Float64Array(nodes.length),
      outputs: this.outputs.rows(),
      inputs: this.inputs.rows(),
      bytes: Float64Array.from(this.bytes),
      result,
      baseBytes: 0,
    };
    const sums = new LifeSums(graph, nodes.length);
    forEachLife(graph, nodes, sums.add);
    const { peakBytes, peakStep } = sums.memory(nodes);
    return { peakBytes, peakAt: this.places[peakStep] };
  }
}
