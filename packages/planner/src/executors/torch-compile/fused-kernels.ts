import type { CompiledNodeRecord, GraphRecord } from "@remat/memory/graph";
import type { OpCost } from "@remat/runtime-estimator";

/** A node of a compiled graph, with what its kernel costs where that is known without running it. */
export interface CompiledNode extends CompiledNodeRecord {
  /** What its results span, where that is not what their storages take. */
  readonly bytes?: number;
  readonly flops?: number;
  /** Whose throughput bounds them. */
  readonly dtype?: string;
  /** Whether it is fused with what makes or reads its tensors. */
  readonly isFusible?: boolean;
}

/**
 * Returns what each kernel of a compiled graph costs, if fusible nodes that touch are one kernel wherever the others let them, which reads from memory what none of them makes, once, and writes what others read. Each other
 * node that computes is a kernel by itself; one whose results lie on what it reads, a view, is none. Nodes run as late as they can, as those do that Inductor fuses with what reads them: what is recomputed
 * in the backward pass is then fused with its reader there. FLOPs of fusible nodes are not counted: memory bounds them.
 *
 * @param storages those that the nodes' results lie on
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
 * Returns for each node the number of its kernel: those that join and touch have one, if as many kernels follow each. So none of a kernel waits for what another kernel makes of its own results.
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
