import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { type SACStats, sacStats } from "@remat/sac-core";
import { goldenFiles, readGolden } from "@remat/testkit";
import { checkedShare } from "@remat/testkit/checked-share";
import { Phase, TraceBuilder } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  expandedToDepth,
  type ModuleTreeColumn,
  type ModuleTreeView,
  moduleTreeRows,
  moduleTreeTable,
  moduleTreeView,
  writeViewTable,
} from "../src/index.js";

const traces = goldenFiles()
  .filter(({ name }) => ["sac_01_foo", "sac_02_transformer", "sac_05_reuse", "sac_08a_vit"].includes(name))
  .map((file) => {
    const { name } = file;
    const trace = priceTrace(readPyTorchTrace(readGolden(file)), deviceSpec("a100"));
    const stats = sacStats(trace);
    return { name, trace, stats, view: moduleTreeView(trace, stats) };
  });

const sum = (values: Float64Array): number => values.reduce((total, value) => total + value, 0);

describe.each(traces)("modules of $name", ({ trace, stats, view }) => {
  it("are all there, once, each under the module that its name begins with", () => {
    expect(view.nodes.map(({ fqn }) => fqn).toSorted()).toEqual(
      [...new Set(trace.modules.map(({ fqn }) => fqn))].sort(),
    );
    view.nodes.forEach((node, i) => {
      expect(node.index).toBe(i);
      for (const child of node.children) {
        expect(view.nodes[child].parent).toBe(i);
        expect(view.nodes[child].fqn).toBe(`${node.fqn}.${view.nodes[child].name}`);
        expect(view.nodes[child].depth).toBe(node.depth + 1);
      }
    });
    expect(view.roots).toEqual(view.nodes.filter(({ parent }) => parent < 0).map(({ index }) => index));
  });

  it("have the numbers of their statistics", () => {
    for (const [fqn, own] of stats) {
      const node = view.nodes.find((module) => module.fqn === fqn)!;
      expect(node.memoryBytes).toBeCloseTo(sum(own.memoryBytes), 3);
      expect(node.runtimeMs).toBeCloseTo(sum(own.runtimesMs), 9);
      expect(node.opCount).toBe(own.ops.length);
      const saved = new Map<number, number>();
      for (const op of own.savedAutogradOps) {
        const [storage] = Array.from(trace.opOutputs(own.ops[op])).flatMap((tensor) => [
          ...trace.tensorStorages(tensor),
        ]);
        if (!saved.has(storage) && own.memoryBytes[op] > 0) saved.set(storage, own.memoryBytes[op]);
      }
      expect(node.savedBytes).toBe([...saved.values()].reduce((bytes, size) => bytes + size, 0));
    }
  });

  it("have leaves that take no more than the module around them", () => {
    const leaves = view.nodes.filter(({ fqn }) => !stats.has(fqn));
    expect(leaves.some(({ memoryBytes }) => memoryBytes > 0)).toBe(true);
    for (const { parent, memoryBytes, opCount, savedBytes } of leaves) {
      expect(memoryBytes).toBeLessThanOrEqual(view.nodes[parent].memoryBytes);
      expect(opCount).toBeLessThanOrEqual(view.nodes[parent].opCount);
      expect(savedBytes).toBeLessThanOrEqual(memoryBytes);
    }
  });

  it("are shown as far as they are expanded", () => {
    expect([...moduleTreeRows(view, { expanded: new Set() })]).toEqual(view.roots);
    expect(moduleTreeRows(view, { expanded: expandedToDepth(view, 1000) })).toHaveLength(view.nodes.length);
    const two = moduleTreeRows(view, { expanded: expandedToDepth(view, 1) });
    expect([...two].every((index) => view.nodes[index].depth <= 1)).toBe(true);
    expect(two).toHaveLength(view.nodes.filter(({ depth }) => depth <= 1).length);
  });

  it("are sorted among siblings, whatever is expanded", () => {
    const given = checkedShare();
    const columns: ModuleTreeColumn[] = [
      "name",
      "memoryBytes",
      "savedBytes",
      "runtimeMs",
      "forwardMs",
      "backwardMs",
      "calls",
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...columns),
        fc.boolean(),
        fc.uniqueArray(fc.nat(view.nodes.length - 1)),
        (column, descending, open) => {
          const expanded = new Set(open);
          const rows = [...moduleTreeRows(view, { expanded, sort: { column, descending } })];
          expect(rows.toSorted((a, b) => a - b)).toEqual(
            [...moduleTreeRows(view, { expanded })].toSorted((a, b) => a - b),
          );
          rows.forEach((index, at) => {
            const node = view.nodes[index];
            // Every module stands below the one around it, with only its own family between them.
            if (node.parent >= 0) expect(rows.lastIndexOf(node.parent, at)).toBeGreaterThanOrEqual(0);
            const next = rows.slice(at + 1).find((other) => view.nodes[other].depth <= node.depth);
            if (next === undefined || !given(view.nodes[next].parent === node.parent)) return;
            const [a, b] = [node[column], view.nodes[next][column]];
            if (descending) expect(a >= b).toBe(true);
            else expect(a <= b).toBe(true);
          });
        },
      ),
    );
  });
});

describe("a tree by hand", () => {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  const tensor = (bytes: number): number =>
    b.tensor({ storage: b.allocate(bytes), dtype: "float32", shape: [bytes / 4] });
  const net = b.call(b.module({ fqn: "net", kind: "Model", leaf: false }), -1, true);
  const dense = b.module({ fqn: "net.dense", kind: "Dense", leaf: true });
  b.enterModule(net);
  for (const bytes of [400, 800]) {
    const call = b.call(dense, net, true);
    b.enterModule(call);
    b.op({ name: "MatMul", stack: b.stackOfCall(call), outputs: [tensor(bytes)], runtimeMs: 1 });
    b.exitModule(call);
  }
  b.op({ name: "Sum", stack: b.stackOfCall(net), outputs: [tensor(4)], runtimeMs: 0.25 });
  b.exitModule(net);
  b.op({ name: "Grad", phase: Phase.backward, stack: b.stackOfCall(net), outputs: [tensor(4)], runtimeMs: 3 });
  b.module({ fqn: "other|net", kind: "Unused", leaf: true });
  const trace = b.build();
  const view: ModuleTreeView = moduleTreeView(trace, sacStats(trace));

  it("counts every call of a shared layer, and modules that were never called", () => {
    expect(writeViewTable(moduleTreeTable(view), "csv")).toBe(
      [
        "module,kind,depth,calls,ops,memoryBytes,memoryShare,savedBytes,runtimeMs,forwardMs,backwardMs",
        "net,Model,0,1,3,1200,1,0,2.25,2.25,3",
        "net.dense,Dense,1,2,2,1200,1,0,2,2,0",
        "other|net,Unused,0,0,0,0,0,0,0,0,0",
        "",
      ].join("\r\n"),
    );
  });

  it("is exported as JSON and Markdown, too", () => {
    const parsed = JSON.parse(writeViewTable(moduleTreeTable(view, [1]), "json")) as { rows: unknown[] };
    expect(parsed.rows).toEqual([
      {
        module: "net.dense",
        kind: "Dense",
        depth: 1,
        calls: 2,
        ops: 2,
        memoryBytes: 1200,
        memoryShare: 1,
        savedBytes: 0,
        runtimeMs: 2,
        forwardMs: 2,
        backwardMs: 0,
      },
    ]);
    const markdown = writeViewTable(moduleTreeTable(view), "md");
    expect(markdown).toMatch(/^## Modules\n\n\|/);
    expect(markdown).toContain("other\\|net");
  });

  it("sums up what is told of the modules in one that was not done", () => {
    const c = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
    const whole = c.call(c.module({ fqn: "net", kind: "Model", leaf: false }), -1, true);
    c.enterModule(whole);
    for (const name of ["a", "b"]) {
      const block = c.call(c.module({ fqn: `net.${name}`, kind: "Block", leaf: false }), whole, true);
      c.enterModule(block);
      for (const bytes of [400, 4]) {
        const storage = c.allocate(bytes);
        const outputs = [c.tensor({ storage, dtype: "float32", shape: [bytes / 4] })];
        c.op({ name: "MatMul", stack: c.stackOfCall(block), outputs, runtimeMs: 1 });
      }
      c.exitModule(block);
    }
    const broken = c.build({ line: 12, reason: "the last line breaks off" });
    const { nodes, totals } = moduleTreeView(broken, sacStats(broken));
    expect(nodes.map(({ fqn, opCount, memoryBytes, runtimeMs }) => [fqn, opCount, memoryBytes, runtimeMs])).toEqual([
      ["net", 4, 800, 4],
      ["net.a", 2, 400, 2],
      ["net.b", 2, 400, 2],
    ]);
    expect(totals.memoryBytes).toBe(800);
  });

  it("has nothing to show of a trace without modules", () => {
    const empty = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 }).build();
    const none = moduleTreeView(empty, new Map<string, SACStats>());
    expect(none).toEqual({
      nodes: [],
      roots: [],
      totals: { memoryBytes: 0, forwardMs: 0, backwardMs: 0, optimizerMs: 0 },
    });
    expect(moduleTreeRows(none, { expanded: new Set() })).toHaveLength(0);
  });
});
