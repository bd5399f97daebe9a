import type { Rows } from "@remat/trace";

/**
 * The kind of a node in a {@link Graph}. The numbers are the values of `graph.kinds`. The meanings are those of
 * torch.fx.
 */
export const NodeKind = { placeholder: 0, attribute: 1, compute: 2, output: 3 } as const;
/** The name of a {@link NodeKind}. */
export type NodeKindName = keyof typeof NodeKind;

/**
 * Identifies a storage by its index in `graph.storages`. A storage is on one device, so the index is sufficient. Two
 * graphs whose storages are compared (forward and backward) use one table.
 */
export type StorageKey = number;

/** The storages of a graph, in columns. */
export interface GraphStorages {
  readonly count: number;
  readonly bytes: Float64Array;
  /** Index into `graph.devices`. */
  readonly device: Int32Array;
}

/**
 * A computation graph for computing memory: nodes in an order in which they can run, and the storages that each node
 * creates and reads. It consists of columns instead of objects, so that a graph of a million nodes is about ten arrays.
 * Created by `graphOfTrace` or `buildGraph`, and not to be changed.
 *
 * The memory of a placeholder (an argument) or an attribute (a constant) exists before the first node runs. The output
 * node reads the results for the caller, which therefore outlive the graph.
 */
export interface Graph {
  readonly nodeCount: number;
  /** {@link NodeKind} of each node. */
  readonly kinds: Uint8Array;
  /** The nodes whose results each node reads, each once. */
  readonly inputs: Rows;
  /** The storages of each node's results, each once, whether it allocated them or not (views, in-place ops). */
  readonly outputs: Rows;
  /** The storages that each node reads, each once. */
  readonly reads: Rows;
  readonly storages: GraphStorages;
  readonly devices: readonly string[];
  /** The device whose memory counts, or undefined for every device except the CPU. */
  readonly device: string | undefined;
  /** 1 for a node whose memory belongs to the caller (weights, arguments) and is never released. */
  readonly held: Uint8Array;
  nodeName(node: number): string;
}

/** Returns whether memory that `node` allocated may be released after its last use. */
export type IsReleasable = (node: number) => boolean;
/** Returns whether memory on `device` is counted. */
export type DeviceFilter = (device: string) => boolean;

/** Options that determine which memory of a graph counts. */
export interface MemoryOptions {
  /**
   * Returns whether memory that a node allocated may be released. Default: true, except for nodes that the graph marks
   * as held.
   */
  readonly isReleasable?: IsReleasable | undefined;
  /**
   * Selects the devices that count. Default: `graph.device`, or every device except the CPU if the graph names none.
   */
  readonly deviceFilter?: DeviceFilter | undefined;
  /**
   * Returns the size that counts for `bytes` requested bytes, such as the size rounded up to the allocator's unit.
   * Default: the requested size.
   */
  readonly sizeOf?: ((bytes: number) => number) | undefined;
}

/** Counts every device except the CPU, as torch's own filter does. */
function acceleratorOnly(device: string): boolean {
  return !/^cpu(:|$)/.test(device);
}

/** Returns the bytes that count for each storage under `options`: 0 on a device that is filtered out. @internal */
export function countedBytes(graph: Graph, options: MemoryOptions): Float64Array {
  const filter =
    options.deviceFilter ?? (graph.device === undefined ? acceleratorOnly : (device) => device === graph.device);
  const counts = graph.devices.map(filter);
  const { count, bytes, device } = graph.storages;
  const { sizeOf } = options;
  const counted = new Float64Array(count);
  for (let s = 0; s < count; s++)
    if (counts[device[s]]) counted[s] = sizeOf === undefined ? bytes[s] : sizeOf(bytes[s]);
  return counted;
}

/** Returns the check for releasable nodes in `options`, or the default. @internal */
export function releasability(graph: Graph, options: MemoryOptions): IsReleasable {
  return options.isReleasable ?? ((node) => graph.held[node] === 0);
}

/** Returns whether a node's memory exists before the graph runs. @internal */
export function isGiven(kind: number): boolean {
  return kind === NodeKind.placeholder || kind === NodeKind.attribute;
}
