import type { Golden } from "@remat/testkit";
import {
  buildGraph,
  buildMemoryProfile,
  type Graph,
  GraphAliasTracker,
  type GraphNodeRecord,
  getFwdBwdInteractions,
  type IsReleasable,
  type NodeKindName,
} from "../../src/graph/index.js";
import { type GraphSequence, sequenceOfGraph } from "../../src/graph/sequence-of-graph.js";
import { forEachLife, LifeSums } from "../../src/sequence/hold-sequence.js";

interface FxNode {
  readonly n: string;
  readonly op: string;
  readonly in: readonly string[];
  readonly out?: readonly { readonly k: number }[];
  readonly fresh: readonly number[];
  readonly uses: readonly number[];
  readonly last: readonly number[];
}

interface FxGraph {
  readonly nodes: readonly FxNode[];
  readonly profile: readonly number[];
  readonly storage_to_allocator: Readonly<Record<string, string>>;
  readonly storage_to_last_user: Readonly<Record<string, string>>;
  readonly memory_tracker: readonly {
    readonly order: readonly string[];
    readonly current: readonly number[];
    readonly peak: number;
  }[];
}

const kindOfOp: Readonly<Record<string, NodeKindName>> = {
  placeholder: "placeholder",
  get_attr: "attribute",
  call_function: "compute",
  call_module: "compute",
  call_method: "compute",
  output: "output",
};

export function readFxGraph(golden: Golden, graph: FxGraph): Graph {
  return buildGraph({
    storages: golden["storages"].map(([bytes, device]: [number, string]) => ({ bytes, device })),
    nodes: graph.nodes.map((node): GraphNodeRecord => {
      const kind = kindOfOp[node.op];
      if (kind === undefined) throw new Error(`unknown fx op '${node.op}'`);
      return { name: node.n, kind, inputs: node.in, outputs: (node.out ?? []).map(({ k }) => k) };
    }),
  });
}

/**
 * Everything that a file of schema fx-memory-oracle/1 answers, computed from its nodes and compared; one line for each thing that differs.
 */
export function compareFxGolden(golden: Golden): string[] {
  const differences: string[] = [];
  const check = (what: string, ours: unknown, theirs: unknown) => {
    const [a, b] = [JSON.stringify(ours), JSON.stringify(theirs)];
    if (a === b) return;
    let i = 0;
    while (a[i] === b[i]) i++;
    const from = Math.max(0, i - 30);
    differences.push(`${what}: ours …${a.slice(from, i + 40)}, golden …${b.slice(from, i + 40)}`);
  };
  const isPrimal = (name: string) => name.startsWith("primals");
  for (const [name, part] of Object.entries<Record<string, unknown>>(golden["graphs"])) {
    if (name === "make_fx_forward") {
      const graph = part as unknown as FxGraph;
      compareGraph(`${name}`, golden, graph, (node) => !isPrimal(node), check);
      continue;
    }
    const { forward, backward, interactions } = part as unknown as {
      forward: FxGraph;
      backward: FxGraph;
      interactions: { error?: string; fixed?: unknown };
    };
    // Upstream raises; what it sets out to compute is in `fixed`.
    const { backwardBaselineBytes, doNotDelete } = getFwdBwdInteractions(
      readFxGraph(golden, forward),
      readFxGraph(golden, backward),
    );
    const kept = doNotDelete.map((node) => backward.nodes[node].n);
    check(
      `${name} interactions`,
      { bwd_baseline_memory: backwardBaselineBytes, do_not_delete: kept },
      interactions.fixed ?? interactions,
    );
    compareGraph(`${name} forward`, golden, forward, (node) => !isPrimal(node), check);
    compareGraph(`${name} backward`, golden, backward, (node) => !kept.includes(node), check);
  }
  return differences;
}

function compareGraph(
  where: string,
  golden: Golden,
  theirs: FxGraph,
  isReleasableName: (name: string) => boolean,
  check: (what: string, ours: unknown, theirs: unknown) => void,
): void {
  const graph = readFxGraph(golden, theirs);
  const isReleasable: IsReleasable = (node) => isReleasableName(graph.nodeName(node));
  const aliases = new GraphAliasTracker(graph);
  theirs.nodes.forEach((node, n) => {
    check(
      `${where} node ${node.n}`,
      [aliases.getFreshAllocations(n), aliases.getStorageUses(n), aliases.getStoragesLastUsed(n)].map((s) => [...s]),
      [node.fresh, node.uses, node.last],
    );
  });
  const byStorage = (nodes: Int32Array) =>
    Object.fromEntries([...nodes].flatMap((node, s) => (node < 0 ? [] : [[String(s), graph.nodeName(node)]])));
  const ascending = (table: Readonly<Record<string, string>>) => Object.fromEntries(Object.entries(table));
  check(`${where} allocators`, byStorage(aliases.storageToAllocator), ascending(theirs.storage_to_allocator));
  check(`${where} last users`, byStorage(aliases.storageToLastUser), ascending(theirs.storage_to_last_user));
  check(`${where} profile`, [...buildMemoryProfile(graph, { isReleasable })], theirs.profile);

  const nodeOfName = new Map(theirs.nodes.map((node, n) => [node.n, n]));
  theirs.memory_tracker.forEach((run, i) => {
    const { current, peak } = memoryOfOrder(
      graph,
      sequenceOfGraph(graph, { isReleasable }, aliases),
      run.order.map((name) => nodeOfName.get(name)!),
    );
    check(`${where} order ${i} current`, current, run.current);
    check(`${where} order ${i} peak`, peak, run.peak);
  });
}

/** Bytes alive when the graph begins and after each node of another order, and the peak, as upstream's `MemoryTracker` has them. */
export function memoryOfOrder(
  graph: Graph,
  { graph: account, nodes, givenCount }: GraphSequence,
  order: readonly number[],
): { readonly current: readonly number[]; readonly peak: number } {
  const sequence = Int32Array.from([...nodes.subarray(0, givenCount), ...order]);
  const sums = new LifeSums(account, sequence.length);
  const canRun = forEachLife(account, sequence, sums.add);
  if (!canRun) throw new Error(`${order.map((node) => graph.nodeName(node)).join(", ")} cannot run`);
  const current = [0];
  let peak = 0;
  sums.forEachStep(sequence, (step, heldBytes, leftBytes) => {
    if (step < givenCount) current[0] = leftBytes;
    else current.push(leftBytes);
    peak = Math.max(peak, heldBytes);
  });
  return { current, peak };
}
