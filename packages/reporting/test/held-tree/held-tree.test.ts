import { heldPeak, storagesAfterOp } from "@remat/memory";
import { StepFacts } from "@remat/memory/sequence";
import { checkedShare } from "@remat/testkit/checked-share";
import { Category, Phase, TraceBuilder } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  describeLife,
  type HeldTree,
  heldRow,
  heldTree,
  heldTreeRows,
  heldTreeTable,
  openAll,
  openLargest,
} from "../../src/held-tree/index.js";
import { namePattern } from "../../src/held-tree/name-pattern.js";
import { goldenTrace } from "../golden-trace.js";

const goldens = ["mem_02_transformer_adam", "mem_vit_adam", "fsdp_tf_ws4_reshard1", "sac_f5_weird"];

/** The tree as somebody reads it. */
function drawn(tree: HeldTree, open: ReadonlySet<number> = openAll(tree)): string[] {
  const { ids, depths, parents } = heldTreeRows(tree, open);
  return Array.from(ids, (id, i) => {
    const { label, bytes, count, eachBytes, depth } = heldRow(tree, id, depths[i], parents[i]);
    return `${"  ".repeat(depth)}${bytes} ${eachBytes === undefined ? "" : `= ${count} x ${eachBytes} `}${label}`;
  });
}

it("names what no op has made, where a program has no modules", () => {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "real", allocationUnitBytes: 1 });
  for (const bytes of [40, 48]) b.allocate(bytes, "cpu", Category.parameter);
  const made = [8, 16].map((bytes) => {
    const storage = b.allocate(bytes, "cpu", Category.parameter);
    return b.tensor({ storage, dtype: "float32", shape: [bytes / 4] });
  });
  b.op({ name: "Add", outputs: made });
  const trace = b.build();
  expect(drawn(heldTree(trace, new StepFacts(trace).storagesAtPeak))).toEqual([
    "112 Parameters",
    "  88 no op",
    "    48 storage 1",
    "    40 storage 0",
    "  24 Add",
    "    16 op 0 · float32 [4]",
    "    8 op 0 · float32 [2]",
  ]);
});

describe.each(goldens)("tree of %s", (name) => {
  const trace = goldenTrace(name);
  const tree = heldTree(trace, new StepFacts(trace).storagesAtPeak);

  it("has every storage of the peak once, and they add up to it", () => {
    const { ids, parents } = heldTreeRows(tree, openAll(tree));
    const places = Array.from(ids).filter((id) => id < 0);
    expect(places.map((id) => ~id).sort((a, b) => a - b)).toEqual(Array.from(tree.held.storage.keys()));
    expect(tree.roots.reduce((sum, root) => sum + tree.groups[root].bytes, 0)).toBe(heldPeak(trace).peakBytes);
    const inGroup = tree.groups.map(() => 0);
    ids.forEach((id, i) => {
      if (parents[i] >= 0) inGroup[parents[i]] += heldRow(tree, id, 0, parents[i]).bytes;
    });
    expect(inGroup).toEqual(tree.groups.map(({ bytes }) => bytes));
  });

  it("has the larger first, no group of one part but a category, and what is said of a group is so of all in it", () => {
    const { held, groups, order, module, line } = tree;
    let alike = 0;
    for (const { parts, parent, from, to, eachBytes, modules, line: told, category } of groups) {
      const bytes = parts.map((id) => heldRow(tree, id, 0, parent).bytes);
      expect(bytes).toEqual(bytes.toSorted((a, b) => b - a));
      if (parent >= 0) expect(parts.length).toBeGreaterThan(1);
      const places = Array.from(order.subarray(from, to));
      const sizes = new Set(places.map((place) => held.bytes[place]));
      if (sizes.size === 1) alike++;
      expect(eachBytes).toBe(sizes.size === 1 ? [...sizes][0] : undefined);
      expect(new Set(places.map((place) => module[place]).filter((index) => index >= 0)).size).toBe(modules);
      // Recordings of PyTorch say no lines: see the property below.
      expect([told, ...places.map((place) => line[place])]).toEqual([undefined, ...places.map(() => -1)]);
      expect(new Set(places.map((place) => held.category[place])).size, category).toBe(1);
    }
    expect(alike).toBeGreaterThan(groups.length / 2);
  });

  it("opens the largest first, in no more rows than asked for", () => {
    for (const most of [1, 8, 24, 1000]) {
      const rows = heldTreeRows(tree, openLargest(tree, most)).ids.length;
      expect(rows).toBeLessThanOrEqual(Math.max(most, tree.roots.length));
    }
    expect(openLargest(tree, 1e9)).toEqual(openAll(tree));
  });
});

it("says of a group the size and the line that all in it have, over random ops, sizes and lines", () => {
  const given = checkedShare();
  const few = fc.constantFrom(1, 1, 2, 3);
  const ops = fc.array(
    fc.record({ size: few, line: fc.option(fc.constantFrom(1, 1, 1, 2), { freq: 9 }), kernel: few, category: few }),
    {
      minLength: 2,
      maxLength: 12,
    },
  );
  fc.assert(
    fc.property(ops, (made) => {
      const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
      const lineOf = new Map<number, string | undefined>();
      for (const { size, line, kernel, category } of made) {
        const storage = b.allocate(4 * size, "cpu", category);
        const at = line === null ? undefined : `net.js:${line}:1`;
        lineOf.set(storage, at);
        const output = b.tensor({ storage, dtype: "float32", shape: [size] });
        b.op({ name: `kernel${kernel}`, outputs: [output], ...(at !== undefined && { line: at }) });
      }
      const trace = b.build();
      const tree = heldTree(trace, new StepFacts(trace).storagesAtPeak);
      for (const { from, to, line, eachBytes } of tree.groups) {
        const storages = Array.from(tree.order.subarray(from, to), (place) => tree.held.storage[place]);
        const lines = new Set(storages.map((storage) => lineOf.get(storage)));
        const sizes = new Set(storages.map((storage) => trace.storages.bytes[storage]));
        given(lines.size === 1 && !lines.has(undefined));
        expect(line).toBe(lines.size === 1 ? [...lines][0] : undefined);
        expect(eachBytes).toBe(sizes.size === 1 ? [...sizes][0] : undefined);
      }
    }),
  );
});

describe("tree of a small step", () => {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  const make = (category: number, elements: number) => {
    const storage = b.allocate(4 * elements, "cpu", category);
    return { storage, tensor: b.tensor({ storage, dtype: "float32", shape: [elements] }) };
  };
  const root = b.call(b.module({ fqn: "net", kind: "Model", leaf: false }), -1, true);
  const x = make(Category.input, 5);
  let last = x.tensor;
  const kept: number[] = [];
  for (let layer = 0; layer < 3; layer++) {
    const inner = b.call(b.module({ fqn: `net.conv${layer}`, kind: "Conv2D", leaf: true }), root, true);
    const stack = b.stackOfCall(inner);
    for (const [name, elements] of [
      ["Conv2D", 100],
      ["Relu", 100 + layer],
    ] as const) {
      const out = make(Category.activation, elements);
      b.op({ name, stack, inputs: [last], outputs: [out.tensor], line: `net.js:${name === "Relu" ? 2 : 1}:3` });
      kept.push(out.storage);
      last = out.tensor;
    }
  }
  const loss = make(Category.temporary, 1);
  b.op({ name: "Sum", phase: Phase.backward, inputs: [last], outputs: [loss.tensor] });
  for (const storage of kept) b.free(storage);
  const trace = b.build();
  const tree = heldTree(trace, new StepFacts(trace).storagesAtPeak);

  it("puts modules that differ by numbers, and equal tensors, together", () => {
    expect(drawn(tree)).toEqual([
      "2412 Activations",
      "  2412 conv*",
      "    1212 Relu",
      "      408 conv2 · op 5 · float32 [102]",
      "      404 conv1 · op 3 · float32 [101]",
      "      400 conv0 · op 1 · float32 [100]",
      "    1200 = 3 x 400 Conv2D · float32 [100]",
      "      400 conv0 · op 0",
      "      400 conv1 · op 2",
      "      400 conv2 · op 4",
      "20 Inputs",
      "  20 float32 [5]",
      "4 Temporaries",
      "  4 op 6 Sum · float32 [1]",
    ]);
    expect(tree.groups.map(({ line }) => line)).toEqual([
      undefined,
      undefined,
      "net.js:2:3",
      "net.js:1:3",
      undefined,
      undefined,
    ]);
  });

  it("opens what is asked for, and tells a storage from birth to death", () => {
    expect(drawn(tree, new Set())).toEqual(["2412 Activations", "20 Inputs", "4 Temporaries"]);
    const place = tree.held.storage.indexOf(kept[0]);
    expect(describeLife(tree, ~place)).toBe(
      "allocated by op 0 Conv2D, last used by op 1, then kept alive for 5 more ops",
    );
    expect(describeLife(tree, ~tree.held.storage.indexOf(x.storage))).toBe(
      "existed before the step, or not allocated by an op, last used by op 0, never freed",
    );
  });

  it("is of any other op, too", () => {
    const early = heldTree(trace, storagesAfterOp(trace, 0));
    expect(drawn(early)).toEqual([
      "400 Activations",
      "  400 conv0 · op 0 Conv2D · float32 [100]",
      "20 Inputs",
      "  20 float32 [5]",
    ]);
  });

  it("is exported storage by storage, in the order of the tree", () => {
    const { columns, rows } = heldTreeTable(tree, "net");
    expect(rows).toHaveLength(tree.held.count);
    expect(Object.fromEntries(columns.map((column, i) => [column, rows[0][i]]))).toMatchObject({
      category: "activation",
    });
  });
});

describe("the name of several modules", () => {
  it("keeps the numbers that all have, and leaves out what goes without saying", () => {
    expect(namePattern(["ResNet-50.conv2.conv2_block1_bn", "ResNet-50.conv2.conv2_block3_bn"], "ResNet-50")).toBe(
      "conv2_block*_bn",
    );
    expect(namePattern(["net.layers.0.attention.wq", "net.layers.11.attention.wq"], "net")).toBe(
      "layers.*.attention.wq",
    );
    expect(namePattern(["net"], "net")).toBe("net");
    expect(namePattern(["a.b.c"], "")).toBe("a.b.c");
  });

  it("is one for any names that differ by numbers only", () => {
    const part = fc.constantFrom("conv", "bn_", "layers", "x");
    const names = fc
      .tuple(
        fc.array(part, { minLength: 1, maxLength: 4 }),
        fc.array(fc.array(fc.nat(99), { minLength: 4, maxLength: 4 }), { minLength: 2 }),
      )
      .map(([parts, numbers]) => numbers.map((own) => parts.map((text, i) => `${text}${own[i]}_`).join("-")));
    fc.assert(
      fc.property(names, (all) => {
        const pattern = new RegExp(`^${namePattern(all, "").replaceAll("*", "\\d+")}$`);
        for (const name of all) expect(name).toMatch(pattern);
      }),
    );
  });
});
