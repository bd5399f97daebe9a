import * as tf from "@tensorflow/tfjs";
import { beforeEach, describe, expect, test } from "vitest";
import { executionOrder, type GraphCall } from "../src/execution-order.js";
import { type GroupPaths, groupByPrefix } from "../src/group-by-prefix.js";
import type { Container } from "../src/layer-internals.js";
import { moduleEvents, traceOf } from "./events.js";
import { kerasCalls, residualModel } from "./models.js";

beforeEach(async () => {
  await tf.setBackend("cpu");
  tf.disposeVariables();
});

/** How often each group is entered when the calls run in order. */
function entries(calls: readonly GraphCall[], paths: GroupPaths): Map<string, number> {
  const times = new Map<string, number>();
  let open: readonly string[] = [];
  for (const { layer } of calls) {
    const path = paths.get(layer) ?? [];
    path.forEach((name, depth) => {
      if (open[depth] !== name || open.slice(0, depth).some((outer, i) => outer !== path[i]))
        times.set(name, (times.get(name) ?? 0) + 1);
    });
    open = path;
  }
  return times;
}

describe.each([
  [
    "resnet50",
    ["conv1", "pool1", "conv2", "conv3", "conv4", "conv5"],
    ["conv2_block1", "conv2_block2", "conv2_block3"],
    174,
  ],
  [
    "mobilenet_v1",
    ["conv1", ...Array.from({ length: 13 }, (_, i) => [`conv_dw_${i + 1}`, `conv_pw_${i + 1}`]).flat()],
    [],
    81,
  ],
  [
    "mobilenet_v2",
    ["expanded_conv", ...Array.from({ length: 16 }, (_, i) => `block_${i + 1}`), "Conv_1"],
    ["expanded_conv_depthwise", "expanded_conv_project"],
    149,
  ],
  [
    "efficientnet_b0",
    [
      "stem",
      "block1a",
      "block2a",
      "block2b",
      "block3a",
      "block3b",
      "block4a",
      "block4b",
      "block4c",
      "block5a",
      "block5b",
    ].concat(["block5c", "block6a", "block6b", "block6c", "block6d", "block7a", "top"]),
    ["stem_conv"],
    234,
  ],
] as const)("the layers of %s by name", (file, outermost, firstWithin, grouped) => {
  const calls = kerasCalls(file);
  const paths = groupByPrefix(calls);
  const all = [...new Map(calls.map(({ layer }) => [layer.name, paths.get(layer) ?? []]))];

  test("the outermost groups are the parts of the network", () => {
    expect([...new Set(all.map(([, path]) => path[0]))].filter((name) => name !== undefined)).toEqual(outermost);
  });

  test("groups within them", () => {
    const within = [...new Set(all.map(([, path]) => path[1]))].filter((name) => name !== undefined);
    expect(within.slice(0, firstWithin.length)).toEqual(firstWithin);
  });

  test("almost all layers are in a group, and each group is entered once", () => {
    expect(all.filter(([, path]) => path.length > 0)).toHaveLength(grouped);
    const times = entries(calls, paths);
    expect([...times].filter(([, count]) => count !== 1)).toEqual([]);
  });
});

const forward = (events: string[]) =>
  events.filter((line) => line.endsWith("forward")).map((line) => line.slice(0, -8));
const groupsIn = (events: string[]) => forward(events).filter((line) => /[<>] residual\.[^.]*$/.test(line));

test("groups by prefix surround their layers, forward and backward", async () => {
  const model = residualModel((block, layer) => `block${block}_${layer}`);
  model.compile({ optimizer: "sgd", loss: "meanSquaredError" });
  const trace = await traceOf(model, () => model.trainOnBatch(tf.ones([2, 4]), tf.ones([2, 4])));
  const events = moduleEvents(trace);
  expect(forward(events)).toEqual([
    "> residual",
    ...[1, 2].flatMap((block) => [
      `> residual.block${block}`,
      ...["a", "b", "side", "add"].flatMap((layer) => {
        const fqn = `residual.block${block}.block${block}_${layer}`;
        return [`> ${fqn}`, `< ${fqn}`];
      }),
      `< residual.block${block}`,
    ]),
    "> residual.block3",
    ...["dense", "bn", "relu"].flatMap((layer) => {
      const fqn = `residual.block3.block3_${layer}`;
      return [`> ${fqn}`, `< ${fqn}`];
    }),
    "< residual.block3",
    "> residual.block4_last",
    "< residual.block4_last",
    "< residual",
  ]);
  const backward = events.filter((line) => /residual(\.block\d)? backward$/.test(line));
  expect(backward).toEqual(
    ["> residual", "> residual.block3", "< residual.block3", "> residual.block2", "< residual.block2"]
      .concat(["> residual.block1", "< residual.block1", "< residual"])
      .map((line) => `${line} backward`),
  );
  expect(trace.modules.filter(({ kind }) => kind === "Group")).toEqual(
    ["block1", "block2", "block3"].map((name) => ({ fqn: `residual.${name}`, kind: "Group", leaf: false })),
  );
});

test("names that say nothing: the groups lie between cuts of the graph", async () => {
  let next = 0;
  const model = residualModel((_, layer) =>
    layer === "relu" || layer === "bn" || layer === "add" ? `${layer}${next++}` : `dense_${next++}`,
  );
  const events = moduleEvents(await traceOf(model, () => model.predict(tf.ones([2, 4]))));
  expect(groupsIn(events)).toEqual([
    "> residual.dense_1-add3",
    "< residual.dense_1-add3",
    "> residual.dense_5-add7",
    "< residual.dense_5-add7",
    // A chain: a layer with a kernel, and what follows it.
    "> residual.dense_8-relu10",
    "< residual.dense_8-relu10",
    "> residual.dense_11",
    "< residual.dense_11",
  ]);
});

test("a chain of layers ends where a block begins", async () => {
  const x = tf.input({ shape: [4] });
  const dense = (name: string, from: tf.SymbolicTensor) =>
    tf.layers.dense({ name, units: 4 }).apply(from) as tf.SymbolicTensor;
  const relu = (name: string, from: tf.SymbolicTensor) => tf.layers.reLU({ name }).apply(from) as tf.SymbolicTensor;
  const before = relu("r2", dense("d1", x));
  const sum = tf.layers.add({ name: "s4" }).apply([dense("d3", before), before]) as tf.SymbolicTensor;
  const model = tf.model({ name: "residual", inputs: x, outputs: relu("r6", dense("d5", relu("r5", sum))) });
  const events = moduleEvents(await traceOf(model, () => model.predict(tf.ones([2, 4])), { grouping: "cuts" }));
  expect(groupsIn(events)).toEqual(
    ["d1-r2", "d3-s4", "r5", "d5-r6"].flatMap((name) => [`> residual.${name}`, `< residual.${name}`]),
  );
});

test("the user's own groups may be entered again", async () => {
  const model = residualModel((block, layer) => `block${block}_${layer}`);
  const grouping = ({ name }: { name: string }) => (/_(a|b|dense)$/.test(name) ? "branch.deep" : undefined);
  const events = moduleEvents(await traceOf(model, () => model.predict(tf.ones([2, 4])), { grouping }));
  expect(forward(events).filter((line) => line.includes("branch") && !line.includes("block"))).toEqual(
    ["", "#1", "#2"].flatMap((call) => [
      `> residual.branch${call}`,
      `> residual.branch.deep${call}`,
      `< residual.branch.deep${call}`,
      `< residual.branch${call}`,
    ]),
  );
});

test("no groups, and an unknown way", async () => {
  const model = residualModel((block, layer) => `block${block}_${layer}`);
  const events = moduleEvents(await traceOf(model, () => model.predict(tf.ones([2, 4])), { grouping: "none" }));
  expect(events.some((line) => line.includes("block1."))).toBe(false);
  await expect(traceOf(model, () => {}, { grouping: "layers" as never })).rejects.toThrow(/unknown grouping "layers"/);
});

test("the order of execution is tfjs-layers' own", async () => {
  const a = tf.input({ shape: [2] });
  const b = tf.input({ shape: [2] });
  const dense = (name: string, x: tf.SymbolicTensor) =>
    tf.layers.dense({ name, units: 2 }).apply(x) as tf.SymbolicTensor;
  const add = (name: string, x: tf.SymbolicTensor[]) => tf.layers.add({ name }).apply(x) as tf.SymbolicTensor;
  const [p, q, r] = [dense("p", a), dense("q", b), dense("r", a)];
  const pq = add("pq", [p, q]);
  const model = tf.model({ inputs: [a, b], outputs: [add("rpq", [r, pq, p]), dense("s", pq), pq] });
  const called = moduleEvents(
    await traceOf(model, () => model.predict([tf.ones([1, 2]), tf.ones([1, 2])]), { name: "m", grouping: "none" }),
  );
  const order = called.flatMap((line) => /^> m\.(\w+) /.exec(line)?.[1] ?? []);
  expect(order).toHaveLength(6);
  expect(executionOrder(model as unknown as Container).map(({ layer }) => layer.name)).toEqual(order);
});
