import type { SequenceGraph } from "@remat/memory/sequence";
import { RematError, type Rows, transposeRows } from "@remat/trace";

/** What a schedule is planned for: what a sequence of nodes holds, and what each costs. */
export interface PlanningGraph extends SequenceGraph {
  /** Cost of running each node once: milliseconds for a trace, what the file says for a graph file. */
  readonly cost: Float64Array;
  /** 0 for a node that must run exactly once: its values cannot be recomputed. */
  readonly recomputable: Uint8Array;
  /** 1 for a node that stands for what user code makes, or lets go, between ops: it runs once, and as late as it can. None if left out. */
  readonly isSource?: Uint8Array;
  /** What moving values to host memory and from it costs. Left out where nothing can be offloaded. */
  readonly transfers?: TransferCosts;
  /** The node that makes each value. */
  readonly producer: Int32Array;
  /** The nodes that read each value, ascending. */
  readonly consumers: Rows;
  nodeName(node: number): string;
}

/**
 * What offloading costs, by node that makes one value; infinite for a node that makes none that can be. A transfer takes a step of its own, beside which nothing
 * is computed: an executor whose pass is synchronous waits for it.
 */
export interface TransferCosts {
  /** Of moving a node's value to host memory; once, however often it is reloaded. */
  readonly offload: Float64Array;
  /** Of moving it back, each time. */
  readonly reload: Float64Array;
}

/**
 * Returns a graph whose values may be offloaded over a link that moves so many bytes for a unit of cost, each way.
 *
 * @param canOffload left out: every node that makes one value, which is no result and no source
 * @example
 * withLink(graph, 12e9 / 1000); // 12 GB/s, where costs are milliseconds
 */
export function withLink(
  graph: PlanningGraph,
  bytesPerCost: number,
  canOffload: (node: number) => boolean = () => true,
): PlanningGraph {
  const { nodeCount, outputs, bytes, result, isSource } = graph;
  const offload = new Float64Array(nodeCount).fill(Number.POSITIVE_INFINITY);
  for (let v = 0; v < nodeCount; v++) {
    const first = outputs.start[v];
    const value = outputs.values[first];
    if (outputs.start[v + 1] - first !== 1 || result[value] === 1 || bytes[value] === 0) continue;
    if (isSource?.[v] !== 1 && canOffload(v) && bytesPerCost > 0) offload[v] = bytes[value] / bytesPerCost;
  }
  return offload.some(Number.isFinite) ? { ...graph, transfers: { offload, reload: offload } } : graph;
}

/** Tells whether what a node makes can be offloaded and reloaded. @internal */
export const canBeReloaded = ({ transfers }: PlanningGraph, node: number): boolean =>
  transfers !== undefined && transfers.reload[node] < Number.POSITIVE_INFINITY;

/** Tells whether what a node makes may be freed before its last reader. @internal */
export const canReturn = (graph: PlanningGraph, node: number): boolean =>
  graph.recomputable[node] === 1 || canBeReloaded(graph, node);

/** Returns the same graph, of which nothing can be offloaded. @internal */
export function withoutLink({ transfers: _transfers, ...graph }: PlanningGraph): PlanningGraph {
  return graph;
}

export interface PlanningNode {
  readonly name: string;
  readonly cost: number;
  /** Bytes of each value that the node makes. */
  readonly outputBytes: readonly number[];
  /** What the node reads: indices of earlier nodes and of their outputs. */
  readonly inputs: readonly (readonly [node: number, output: number])[];
  readonly workspaceBytes?: number;
  readonly recomputable?: boolean;
  /** Outputs that the caller gets, by index. */
  readonly results?: readonly number[];
}

/**
 * Returns a planning graph from its nodes, in order.
 *
 * @throws RematError `PLANNING_GRAPH` naming the node with a cost or bytes that are no number from 0 up, with an input that no earlier
 * node makes, or with a result that it does not make.
 * @example
 * const graph = planningGraph([
 *   { name: "split", cost: 1, outputBytes: [4, 8], inputs: [] },
 *   { name: "sum", cost: 1, outputBytes: [4], inputs: [[0, 0], [0, 1]], results: [0] },
 * ]);
 */
export function planningGraph(nodes: readonly PlanningNode[], baseBytes = 0): PlanningGraph {
  const count = nodes.length;
  const firstValue = new Int32Array(count + 1);
  nodes.forEach((node, v) => (firstValue[v + 1] = firstValue[v] + node.outputBytes.length));
  const valueCount = firstValue[count];
  const cost = new Float64Array(count);
  const workspaceBytes = new Float64Array(count);
  const recomputable = new Uint8Array(count);
  const bytes = new Float64Array(valueCount);
  const producer = new Int32Array(valueCount);
  const result = new Uint8Array(valueCount);
  const inputRows: number[][] = [];
  nodes.forEach((node, v) => {
    const owner = `node '${node.name}' (${v})`;
    cost[v] = checked(owner, "cost", node.cost);
    workspaceBytes[v] = checked(owner, "workspace bytes", node.workspaceBytes ?? 0);
    recomputable[v] = node.recomputable === false ? 0 : 1;
    node.outputBytes.forEach((size, k) => {
      bytes[firstValue[v] + k] = checked(owner, "bytes", size);
      producer[firstValue[v] + k] = v;
    });
    for (const k of node.results ?? []) {
      if (!(Number.isInteger(k) && k >= 0 && k < node.outputBytes.length))
        throw new RematError(
          "PLANNING_GRAPH",
          `node '${node.name}' (${v}) names output ${k} as a result; expected one of its ${node.outputBytes.length} outputs`,
        );
      result[firstValue[v] + k] = 1;
    }
    const read = new Set<number>();
    for (const [from, k] of node.inputs) {
      const isEarlier = Number.isInteger(from) && from >= 0 && from < v;
      if (!(isEarlier && Number.isInteger(k) && k >= 0 && k < nodes[from].outputBytes.length))
        throw new RematError(
          "PLANNING_GRAPH",
          `node '${node.name}' (${v}) reads output ${k} of node ${from}; expected an output of one of the ${v} nodes before it`,
        );
      read.add(firstValue[from] + k);
    }
    inputRows.push([...read]);
  });
  checked("the graph", "base bytes", baseBytes);
  const inputs = rowsOf(inputRows);
  return {
    nodeCount: count,
    valueCount,
    cost,
    workspaceBytes,
    recomputable,
    outputs: { start: firstValue, values: Int32Array.from({ length: valueCount }, (_, w) => w) },
    inputs,
    bytes,
    producer,
    consumers: transposeRows(inputs, valueCount),
    result,
    baseBytes,
    nodeName: (v) => nodes[v].name,
  };
}

function checked(owner: string, what: string, value: number): number {
  if (typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY) return value;
  const found = typeof value === "number" ? String(value) : JSON.stringify(value);
  throw new RematError("PLANNING_GRAPH", `${owner}: expected ${what} to be a number from 0 up, found ${found}`);
}

/** @internal */
export function rowsOf(lists: readonly (readonly number[])[]): Rows {
  const start = new Int32Array(lists.length + 1);
  lists.forEach((list, i) => (start[i + 1] = start[i] + list.length));
  const values = new Int32Array(start[lists.length]);
  lists.forEach((list, i) => values.set(list, start[i]));
  return { start, values };
}
