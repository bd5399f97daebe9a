import { RematError, type StorageIndex } from "@remat/trace";
import { type Graph, NodeKind, type NodeKindName, type StorageKey } from "./graph.js";
import { RowsWriter } from "./rows-writer.js";

/** A node of a {@link GraphRecord}. */
export interface GraphNodeRecord {
  readonly name: string;
  readonly kind: NodeKindName;
  /** Names of earlier nodes. The node reads every storage of their results. */
  readonly inputs?: readonly string[];
  /** Storages of the node's results. This node allocates those that no earlier node has. */
  readonly outputs?: readonly StorageKey[];
}

/** The description of a graph for {@link buildGraph}: its nodes in order, and its storages. */
export interface GraphRecord {
  readonly nodes: readonly GraphNodeRecord[];
  readonly storages: readonly { readonly bytes: number; readonly device: string }[];
  /** The device whose memory counts. See `Graph.device`. */
  readonly device?: string;
  /**
   * Returns whether the memory of a node belongs to the caller. Default: true for placeholders named `primals…`, as
   * AOTAutograd names parameters and inputs.
   */
  readonly isHeld?: (node: GraphNodeRecord) => boolean;
}

/**
 * Builds a graph from its nodes, in order. A node reads all results of its input nodes, as in torch.fx.
 *
 * @throws RematError `GRAPH_NODE` for a duplicate name, an input that is not an earlier node, or a storage that does
 * not exist, and `GRAPH_STORAGE` for a number of bytes that is negative or not a number
 * @example
 * const graph = buildGraph({
 *   storages: [{ bytes: 400, device: "cuda:0" }, { bytes: 400, device: "cuda:0" }],
 *   nodes: [
 *     { name: "primals_1", kind: "placeholder", outputs: [0] },
 *     { name: "relu", kind: "compute", inputs: ["primals_1"], outputs: [1] },
 *     { name: "output", kind: "output", inputs: ["relu"] },
 *   ],
 * });
 */
export function buildGraph(record: GraphRecord): Graph {
  const { nodes, storages } = record;
  const isHeld = record.isHeld ?? ((node) => node.kind === "placeholder" && node.name.startsWith("primals"));
  const indices = new Map<string, number>();
  const kinds = new Uint8Array(nodes.length);
  const held = new Uint8Array(nodes.length);
  const inputs = new RowsWriter();
  const outputs = new RowsWriter();
  const reads = new RowsWriter();
  const storagesOf: (readonly StorageKey[])[] = [];
  nodes.forEach((node, n) => {
    if (indices.has(node.name))
      throw nodeError(node, "has the name of an earlier node", "Give every node its own name");
    const read = new Set<StorageKey>();
    const from = new Set<number>();
    for (const name of node.inputs ?? []) {
      const input = indices.get(name);
      if (input === undefined)
        throw nodeError(node, `reads '${name}', which is not an earlier node`, "Put nodes after their inputs");
      from.add(input);
      for (const storage of storagesOf[input]) read.add(storage);
    }
    const made = new Set(node.outputs);
    for (const storage of made)
      if (!(Number.isInteger(storage) && storage >= 0 && storage < storages.length))
        throw nodeError(
          node,
          `uses storage ${storage}, which does not exist`,
          `Name one of the ${storages.length} storages`,
        );
    indices.set(node.name, n);
    storagesOf.push([...made]);
    kinds[n] = NodeKind[node.kind];
    held[n] = isHeld(node) ? 1 : 0;
    for (const input of from) inputs.push(input);
    inputs.endRow();
    for (const storage of made) outputs.push(storage);
    outputs.endRow();
    for (const storage of read) reads.push(storage);
    reads.endRow();
  });
  const devices = [...new Set(storages.map(({ device }) => device))];
  return {
    nodeCount: nodes.length,
    kinds,
    inputs: inputs.rows(),
    outputs: outputs.rows(),
    reads: reads.rows(),
    storages: {
      count: storages.length,
      bytes: Float64Array.from(storages, ({ bytes }, s) => checkedBytes(bytes, s)),
      device: Int32Array.from(storages, ({ device }) => devices.indexOf(device)),
    },
    devices,
    device: record.device,
    held,
    nodeName: (node) => nodes[node].name,
  };
}

function checkedBytes(bytes: number, storage: StorageIndex): number {
  if (bytes >= 0 && bytes < Number.POSITIVE_INFINITY) return bytes;
  throw new RematError(
    "GRAPH_STORAGE",
    `storage ${storage}: expected 0 bytes or more, found ${bytes}. Correct its size.`,
  );
}

function nodeError(node: GraphNodeRecord, found: string, nextStep: string): RematError {
  return new RematError("GRAPH_NODE", `graph node '${node.name}' ${found}. ${nextStep}.`);
}
