import type { SequenceGraph } from "@remat/memory/sequence";
import { RematError, type Rows, rowsOf, transposeRows } from "@remat/trace";

/** The graph that schedules are planned for: a sequence graph with the cost of each node. */
export interface PlanningGraph extends SequenceGraph {
  /** Cost of running each node once, in milliseconds for a trace and in the unit of the file for a graph file. */
  readonly cost: Float64Array;
  /** 0 for a node that must run exactly once: its values cannot be recomputed. */
  readonly recomputable: Uint8Array;
  /**
   * 1 for a node that represents values that user code creates or releases between ops. Such a node runs once, and as
   * late as possible. By default there are none.
   */
  readonly isSource?: Uint8Array;
  /** The cost of moving values to and from host memory. Left out if nothing can be offloaded. */
  readonly transfers?: TransferCosts;
  /** The node that makes each value. */
  readonly producer: Int32Array;
  /** The nodes that read each value, ascending. */
  readonly consumers: Rows;
  nodeName(node: number): string;
}

/**
 * The costs of offloading, for nodes with a single value. They are infinite for nodes whose value cannot be offloaded.
 * A transfer is a step of its own, during which nothing is computed, because an executor that runs synchronously waits
 * for it.
 */
export interface TransferCosts {
  /** Cost of moving a node's value to host memory. It is paid once, even if the value is reloaded several times. */
  readonly offload: Float64Array;
  /** Cost of each move back to the device. */
  readonly reload: Float64Array;
}

/**
 * Returns a graph whose values may be offloaded over a link.
 *
 * @param bytesPerCost bytes that the link moves per unit of cost, in each direction
 * @param canOffload returns whether a node's value may be offloaded. Default: true. The node must have exactly one
 * value, which is neither a result nor a source
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

/** Returns whether the value of a node can be offloaded and reloaded. @internal */
export const canBeReloaded = ({ transfers }: PlanningGraph, node: number): boolean =>
  transfers !== undefined && transfers.reload[node] < Number.POSITIVE_INFINITY;

/** Returns whether the values of a node may be freed before their last reader. @internal */
export const canReturn = (graph: PlanningGraph, node: number): boolean =>
  graph.recomputable[node] === 1 || canBeReloaded(graph, node);

/** Returns the same graph without offloading. @internal */
export function withoutLink({ transfers: _transfers, ...graph }: PlanningGraph): PlanningGraph {
  return graph;
}

/** A node for {@link planningGraph}. */
export interface PlanningNode {
  readonly name: string;
  readonly cost: number;
  /** Bytes of each value that the node makes. */
  readonly outputBytes: readonly number[];
  /** The values that the node reads, as indices of earlier nodes and of their outputs. */
  readonly inputs: readonly (readonly [node: number, output: number])[];
  readonly workspaceBytes?: number;
  readonly recomputable?: boolean;
  /** Indices of the outputs that are returned to the caller. */
  readonly results?: readonly number[];
}

/**
 * Builds a planning graph from its nodes, in order.
 *
 * @throws RematError `PLANNING_GRAPH` with the name of a node, if its cost or bytes are negative or not a number, if no
 * earlier node creates its input, or if it does not create its result
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
          `node '${node.name}' (${v}) names output ${k} as a result, but has ${node.outputBytes.length} outputs.`,
        );
      result[firstValue[v] + k] = 1;
    }
    const read = new Set<number>();
    for (const [from, k] of node.inputs) {
      const isEarlier = Number.isInteger(from) && from >= 0 && from < v;
      if (!(isEarlier && Number.isInteger(k) && k >= 0 && k < nodes[from].outputBytes.length))
        throw new RematError(
          "PLANNING_GRAPH",
          `node '${node.name}' (${v}) reads output ${k} of node ${from}, which is not an output of one of the ${v} nodes before it.`,
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
  throw new RematError("PLANNING_GRAPH", `${owner}: ${what} must be a number of at least 0; found ${found}.`);
}
