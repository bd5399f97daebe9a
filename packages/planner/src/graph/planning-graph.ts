import type { SequenceGraph } from "@remat/memory";
import { RematError, type Rows, transposeRows } from "@remat/trace";

/** What a schedule is planned for: what a sequence of nodes holds, and what each costs. */
export interface PlanningGraph extends SequenceGraph {
  /** Cost of running each node once: milliseconds for a trace, what the file says for a graph file. */
  readonly cost: Float64Array;
  /** 0 for a node that must run exactly once: its values cannot be recomputed. */
  readonly recomputable: Uint8Array;
  /** 1 for a node that stands for what user code makes between ops: it runs once, and as late as it can. None if left out. */
  readonly isSource?: Uint8Array;
  /** The node that makes each value. */
  readonly producer: Int32Array;
  /** The nodes that read each value, ascending. */
  readonly consumers: Rows;
  nodeName(node: number): string;
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
