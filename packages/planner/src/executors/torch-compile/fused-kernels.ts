import type { CompiledNodeRecord, GraphRecord } from "@remat/memory/graph";
import type { OpCost } from "@remat/runtime-estimator";

/** A node of a compiled graph, with the cost of its kernel if that is known without running it. */
export interface CompiledNode extends CompiledNodeRecord {
  /** Size of its results in bytes, if different from the size of their storages. */
  readonly bytes?: number;
  readonly flops?: number;
  /** The dtype that determines the throughput of its FLOPs. */
  readonly dtype?: string;
  /** True if it is fused with the nodes that create or read its tensors. */
  readonly isFusible?: boolean;
}

/**
 * Returns the cost of each kernel of a compiled graph. Adjacent fusible nodes form one kernel if the other nodes allow
 * it. A kernel reads inputs from outside once from memory, and writes the results that other kernels read. Each other
 * node that computes is a kernel of its own. A view is not a kernel, because its results are on its inputs' storages.
 * Nodes run as late as possible, because Inductor fuses nodes with their readers. Recomputation in the backward pass is
 * thus fused with its reader. FLOPs of fusible nodes are not counted, because these nodes are memory-bound.
 *
 * @param storages the storages of the nodes' results
 */
export function fusedKernels(nodes: readonly CompiledNode[], storages: GraphRecord["storages"]): OpCost[] {
  const indices = new Map(nodes.map(({ name }, n) => [name, n]));
  const inputs = nodes.map((node) => (node.inputs ?? []).map((name) => indices.get(name) as number));
  const maker = new Map<number, number>();
  nodes.forEach(({ outputs = [] }, n) => {
    for (const storage of outputs) if (!maker.has(storage)) maker.set(storage, n);
  });
  const isView = nodes.map(
    ({ kind, outputs = [] }, n) => kind === "compute" && outputs.every((storage) => maker.get(storage) !== n),
  );
  const joins = nodes.map(({ kind, isFusible }, n) => kind === "compute" && (isFusible === true || isView[n]));
  const groupOf = groupsOf(nodes, inputs, joins);

  const kernels = new Map<
    number,
    { node: CompiledNode; read: Map<number, Map<number, number>>; written: Set<number> }
  >();
  const kernelOf = (n: number) => {
    const group = groupOf[n];
    let kernel = kernels.get(group);
    if (kernel === undefined) kernels.set(group, (kernel = { node: nodes[n], read: new Map(), written: new Set() }));
    return kernel;
  };
  const spanned = ({ bytes, outputs = [] }: CompiledNode): number =>
    bytes ?? outputs.reduce((sum, storage) => sum + storages[storage].bytes, 0);
  nodes.forEach((node, n) => {
    if (isView[n] || node.kind === "placeholder" || node.kind === "attribute") return;
    const kernel = node.kind === "compute" ? kernelOf(n) : undefined;
    for (const input of inputs[n])
      for (const storage of nodes[input].outputs ?? []) {
        const made = maker.get(storage) as number;
        if (nodes[made].kind === "compute" && (kernel === undefined || groupOf[made] !== groupOf[n]))
          kernelOf(made).written.add(storage);
        if (kernel === undefined || groupOf[made] === groupOf[n]) continue;
        const read = kernel.read.get(storage) ?? new Map<number, number>();
        kernel.read.set(storage, read.set(input, spanned(nodes[input])));
      }
  });
  return [...kernels.values()].map(({ node, read, written }) => {
    let bytesRead = 0;
    for (const [storage, parts] of read)
      bytesRead += Math.min(
        storages[storage].bytes,
        [...parts.values()].reduce((sum, bytes) => sum + bytes, 0),
      );
    let bytesWritten = 0;
    for (const storage of written) bytesWritten += storages[storage].bytes;
    return { flops: node.flops ?? 0, bytesRead, bytesWritten, dtype: node.dtype ?? "float32" };
  });
}

/**
 * Returns for each node the number of its kernel. Adjacent nodes that can be fused share a kernel if the number of
 * kernels that follow is the same for each. Otherwise a kernel could depend on another kernel that reads its results.
 */
function groupsOf(nodes: readonly CompiledNode[], inputs: readonly number[][], joins: readonly boolean[]): Int32Array {
  const level = new Int32Array(nodes.length);
  for (let n = nodes.length - 1; n >= 0; n--) {
    const before = level[n] + (joins[n] || nodes[n].kind !== "compute" ? 0 : 1);
    for (const input of inputs[n]) if (level[input] < before) level[input] = before;
  }
  const group = Int32Array.from(nodes.keys());
  const rootOf = (n: number): number => {
    while (group[n] !== n) n = group[n] = group[group[n]];
    return n;
  };
  nodes.forEach((_, n) => {
    if (!joins[n]) return;
    for (const input of inputs[n]) if (joins[input] && level[input] === level[n]) group[rootOf(n)] = rootOf(input);
  });
  return group.map((_, n) => rootOf(n));
}
