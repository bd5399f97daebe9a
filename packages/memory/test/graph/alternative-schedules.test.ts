import fc from "fast-check";
import { expect, test } from "vitest";
import {
  buildGraph,
  buildMemoryProfile,
  GraphAliasTracker,
  type GraphNodeRecord,
  peakOfProfile,
} from "../../src/graph/index.js";
import { sequenceOfGraph } from "../../src/graph/sequence-of-graph.js";
import { memoryOfOrder } from "./compare-fx-golden.js";

interface Case {
  readonly nodes: readonly GraphNodeRecord[];
  readonly storages: readonly { bytes: number; device: string }[];
}

/** Graphs with several outputs a node, views, in-place results and two devices. */
const graphs: fc.Arbitrary<Case> = fc
  .array(
    fc.record({
      inputs: fc.array(fc.nat(30), { maxLength: 3 }),
      fresh: fc.array(fc.record({ bytes: fc.nat(9), isCpu: fc.boolean() }), { maxLength: 2 }),
      views: fc.boolean(),
      placeholder: fc.boolean(),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((specs) => {
    const storages: { bytes: number; device: string }[] = [];
    const nodes: GraphNodeRecord[] = [];
    const read: number[][] = [];
    specs.forEach((spec, n) => {
      const isPlaceholder = n === 0 || (spec.placeholder && nodes.every(({ kind }) => kind === "placeholder"));
      const inputs = isPlaceholder ? [] : [...new Set(spec.inputs.map((i) => i % n))];
      const outputs = spec.fresh.map(
        ({ bytes, isCpu }) => storages.push({ bytes, device: isCpu ? "cpu" : "cuda:0" }) - 1,
      );
      if (spec.views && inputs.length > 0) outputs.push(...(nodes[inputs[0]].outputs ?? []));
      read.push(inputs);
      nodes.push({
        name: isPlaceholder ? (n % 2 === 0 ? `primals_${n}` : `tangents_${n}`) : `n${n}`,
        kind: isPlaceholder ? "placeholder" : "compute",
        inputs: inputs.map((i) => nodes[i].name),
        outputs,
      });
    });
    nodes.push({ name: "output", kind: "output", inputs: [nodes[nodes.length - 1].name] });
    return { nodes, storages };
  });

/** From the definition: a storage is there from its allocator's turn until every user had theirs; placeholders named primals keep theirs. */
function bruteForce({ nodes, storages }: Case, order: readonly number[]) {
  const made = nodes.map((node) => new Set(node.outputs));
  const indexOf = (name: string) => nodes.findIndex((node) => node.name === name);
  const reads = nodes.map((node) => new Set((node.inputs ?? []).flatMap((name) => [...made[indexOf(name)]])));
  const allocator = storages.map((_, s) => made.findIndex((outputs) => outputs.has(s)));
  const aliveAfter = (done: ReadonlySet<number>, running: number) =>
    storages
      .map((_, s) => s)
      .filter((s) => {
        if (storages[s].device === "cpu" || allocator[s] < 0 || !done.has(allocator[s])) return false;
        const users = nodes.flatMap((_, n) => (reads[n].has(s) ? [n] : []));
        return (
          users.length === 0 ||
          nodes[allocator[s]].name.startsWith("primals") ||
          users.some((user) => !done.has(user) || user === running)
        );
      });
  const sum = (alive: readonly number[]) => alive.reduce((bytes, s) => bytes + storages[s].bytes, 0);
  const done = new Set(nodes.flatMap((node, n) => (node.kind === "placeholder" ? [n] : [])));
  const profile = [sum(aliveAfter(done, -1))];
  for (const node of order) {
    done.add(node);
    profile.push(sum(aliveAfter(done, node)), sum(aliveAfter(done, -1)));
  }
  return { profile };
}

function topologicalOrder({ nodes }: Case, picks: readonly number[]): number[] {
  const done = new Set<string>(nodes.filter(({ kind }) => kind === "placeholder").map(({ name }) => name));
  // A view must not run before what it is a view of is made, which its inputs ensure.
  const left = nodes.flatMap((node, n) => (node.kind === "compute" ? [n] : []));
  const order: number[] = [];
  for (let i = 0; left.length > 0; i++) {
    const ready = left.filter((n) => (nodes[n].inputs ?? []).every((name) => done.has(name)));
    const next = ready[(picks[i % picks.length] ?? 0) % ready.length];
    order.push(next);
    done.add(nodes[next].name);
    left.splice(left.indexOf(next), 1);
  }
  return order;
}

test("the profile of a graph is the sum of what is alive at each moment", () => {
  fc.assert(
    fc.property(graphs, (graph) => {
      const order = graph.nodes.flatMap((node, n) => (node.kind === "compute" ? [n] : []));
      const { profile } = bruteForce(graph, order);
      const ours = buildMemoryProfile(buildGraph(graph));
      expect([...ours]).toEqual(profile);
      expect(peakOfProfile(ours)).toBe(Math.max(...profile));
    }),
  );
});

test("the account of memory knows what any order holds after each node", () => {
  fc.assert(
    fc.property(graphs, fc.array(fc.nat(), { minLength: 1, maxLength: 12 }), (graph, picks) => {
      const order = topologicalOrder(graph, picks);
      const built = buildGraph(graph);
      const { profile } = bruteForce(graph, order);
      const { current, peak } = memoryOfOrder(built, sequenceOfGraph(built, {}, new GraphAliasTracker(built)), order);
      expect(current).toEqual(profile.filter((_, i) => i % 2 === 0));
      expect(peak).toBe(Math.max(...profile));
    }),
  );
});

test("every storage that is used has an allocator, users and one last user", () => {
  fc.assert(
    fc.property(graphs, (graph) => {
      const built = buildGraph(graph);
      const aliases = new GraphAliasTracker(built);
      for (let s = 0; s < built.storages.count; s++) {
        const users = aliases.getUsers(s);
        expect(aliases.storageToLastUser[s]).toBe(users.length === 0 ? -1 : Math.max(...users));
        expect(aliases.getFreshAllocations(aliases.storageToAllocator[s])).toContain(s);
      }
    }),
  );
});

const chain = buildGraph({
  storages: [
    { bytes: 4, device: "cuda:0" },
    { bytes: 6, device: "cuda:0" },
    { bytes: 100, device: "cpu" },
  ],
  nodes: [
    { name: "primals_1", kind: "placeholder", outputs: [0] },
    { name: "relu", kind: "compute", inputs: ["primals_1"], outputs: [1] },
    { name: "to_cpu", kind: "compute", inputs: ["relu"], outputs: [2] },
    { name: "output", kind: "output", inputs: ["to_cpu"] },
  ],
});

test("device filter, releasability and size are functions", () => {
  expect([...buildMemoryProfile(chain)]).toEqual([4, 10, 10, 10, 4]);
  expect([...buildMemoryProfile(chain, { isReleasable: () => true })]).toEqual([4, 10, 6, 6, 0]);
  expect([...buildMemoryProfile(chain, { deviceFilter: (device) => device === "cpu" })]).toEqual([0, 0, 0, 100, 100]);
  expect([...buildMemoryProfile(chain, { sizeOf: (bytes) => Math.ceil(bytes / 8) * 8 })]).toEqual([8, 16, 16, 16, 8]);
});
