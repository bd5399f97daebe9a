import type { Rows } from "@remat/trace";

/** What a node of a {@link Graph} is. The numbers are what `graph.kinds` holds; the meanings are those of torch.fx. */
export const NodeKind = { placeholder: 0, attribute: 1, compute: 2, output: 3 } as const;
export type NodeKindName = keyof typeof NodeKind;

/**
 * Identity of a piece of memory: its index in `graph.storages`. A storage lies on one device, so the index alone says which storage and
 * where. Two graphs whose storages are compared (forward and backward) use one table.
 */
export type StorageKey = number;

export interface GraphStorages {
  readonly count: number;
  readonly bytes: Float64Array;
  /** Index into `graph.devices`. */
  readonly device: Int32Array;
}

/**
 * A computation graph as memory sees it: nodes in an order in which they can run, and the storages that each makes and reads. Columns,
 * not objects: a graph of a million nodes is some ten arrays. Made by `graphOfTrace` or `buildGraph`; not to be changed.
 *
 * Memory of a placeholder (an argument) or an attribute (a constant) is there before the first node runs. The output node reads what
 * the caller gets, which therefore outlives the graph.
 */
export interface Graph {
  readonly nodeCount: number;
  /** {@link NodeKind} of each node. */
  readonly kinds: Uint8Array;
  /** The nodes whose results each node reads, each once. */
  readonly inputs: Rows;
  /** The storages that each node's results lie on, each once, whether it made them or not (views, in-place ops). */
  readonly outputs: Rows;
  /** The storages that each node reads, each once. */
  readonly reads: Rows;
  readonly storages: GraphStorages;
  readonly devices: readonly string[];
  /** The device that is meant; undefined: every one but the CPU. */
  readonly device: string | undefined;
  /** 1 for a node whose memory is the caller's (weights, arguments) and is never released. */
  readonly held: Uint8Array;
  nodeName(node: number): string;
}

/** Whether memory that `node` allocated may be released after its last use. */
export type IsReleasable = (node: number) => boolean;
/** Whether memory on `device` is counted. */
export type DeviceFilter = (device: string) => boolean;

export interface MemoryOptions {
  /** Left out: every node but those that the graph marks as held. */
  readonly isReleasable?: IsReleasable | undefined;
  /** Left out: `graph.device`, or every device but the CPU where the graph names none. */
  readonly deviceFilter?: DeviceFilter | undefined;
  /** What `bytes` requested bytes cost, e.g. rounded up to the allocator's unit. Left out: themselves. */
  readonly sizeOf?: ((bytes: number) => number) | undefined;
}

/** Counts every device but the CPU, as torch's own filter does. */
export function acceleratorOnly(device: string): boolean {
  return !/^cpu(:|$)/.test(device);
}

/** Bytes that each storage counts for under `options`: 0 on a device that is filtered out. @internal */
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

/** @internal */
export function releasability(graph: Graph, options: MemoryOptions): IsReleasable {
  return options.isReleasable ?? ((node) => graph.held[node] === 0);
}

/** Whether a node's memory is there before the graph runs. @internal */
export function isGiven(kind: number): boolean {
  return kind === NodeKind.placeholder || kind === NodeKind.attribute;
}
