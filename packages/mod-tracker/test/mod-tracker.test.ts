import { withDispatchMode } from "@remat/dispatch-hook";
import { fakeMode } from "@remat/dispatch-hook/fake";
import { phaseNames } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import { beforeEach, describe, expect, test } from "vitest";
import { ModTracker } from "../src/index.js";
import { eventsAndOps, moduleEvents, traceOf } from "./events.js";
import { nestedModel } from "./models.js";

beforeEach(async () => {
  await tf.setBackend("cpu");
  tf.disposeVariables();
});

const dense = (name: string) => [
  `  Reshape forward @ ${name}`,
  `  Reshape forward @ ${name}`,
  `  _FusedMatMul forward in fusedMatMul @ ${name}`,
  `  Reshape forward in fusedMatMul @ ${name}`,
];
const denseBackward = (name: string, reshapes: [kernel: number, input: number]) => [
  `  Reshape backward of fusedMatMul @ ${name}`,
  `  BatchMatMul backward of fusedMatMul @ ${name}`,
  `  BatchMatMul backward of fusedMatMul @ ${name}`,
  `  Sum backward of fusedMatMul @ ${name}`,
  `  Reshape backward of fusedMatMul @ ${name}`,
  ...reshapes.map((op) => `  Reshape backward of op ${op} @ ${name}`),
];

test("the whole event log of a training step of a nested model with a shared layer", async () => {
  const model = nestedModel();
  model.compile({ optimizer: tf.train.sgd(0.1), loss: "meanSquaredError" });
  const step = () => model.trainOnBatch(tf.ones([3, 2]), tf.ones([3, 1]));
  expect(eventsAndOps(await traceOf(model, step, { grouping: "none" }))).toEqual([
    "> net forward",
    "> net.shared forward",
    ...dense("net.shared"),
    "< net.shared forward",
    "> net.act forward",
    "  Relu forward @ net.act",
    "< net.act forward",
    "> net.widen forward",
    ...dense("net.widen"),
    "< net.widen forward",
    "> net.shared#1 forward",
    ...dense("net.shared#1"),
    "< net.shared#1 forward",
    "> net.sum forward",
    "  Identity forward @ net.sum",
    "  Add forward @ net.sum",
    "< net.sum forward",
    "> net.head forward",
    "> net.head.out forward",
    ...dense("net.head.out"),
    "< net.head.out forward",
    "< net.head forward",
    "< net forward",
    // The loss is not the model's.
    "  Sub forward",
    "  Multiply forward",
    "  Mean forward",
    "  Mean forward",
    "  Mean forward",
    "  Reshape backward of op 23",
    "  Multiply backward of op 23",
    "  RealDiv backward of op 23",
    "  Reshape backward of op 21",
    "  Multiply backward of op 21",
    "  RealDiv backward of op 21",
    "  Cast backward of op 20",
    "  Multiply backward of op 20",
    "  Cast backward of op 20",
    "  Multiply backward of op 20",
    "  Add backward of op 19",
    "  Reshape backward of op 19",
    "> net backward",
    "> net.head backward",
    "> net.head.out backward",
    ...denseBackward("net.head.out", [16, 15]),
    "< net.head.out backward",
    "< net.head backward",
    "> net.sum backward",
    "  Reshape backward of op 14 @ net.sum",
    "  Reshape backward of op 14 @ net.sum",
    "  Cast backward of op 13 @ net.sum",
    "< net.sum backward",
    "> net.shared#1 backward",
    ...denseBackward("net.shared#1", [10, 9]),
    "< net.shared#1 backward",
    "> net.widen backward",
    ...denseBackward("net.widen", [6, 5]),
    "< net.widen backward",
    "> net.act backward",
    "  Step backward of op 4 @ net.act",
    "  Cast backward of op 4 @ net.act",
    "  Multiply backward of op 4 @ net.act",
    // Results of act and sum about shared's output are added for shared.
    "  Add backward of fusedMatMul @ net.shared",
    "< net.act backward",
    "> net.shared backward",
    ...denseBackward("net.shared", [1, 0]).slice(0, 5),
    // Bias and kernel have got gradients from both calls.
    "  Add backward @ net.shared",
    "  Reshape backward of op 1 @ net.shared",
    "  Add backward @ net.shared",
    "< net.shared backward",
    "< net backward",
    "mark minimizeUpdateStart",
    ...new Array(6).fill(["  Multiply optimizer", "  Add optimizer"]).flat(),
    "mark updateEnd",
    "mark optimizerStep",
  ]);
});

describe("modules that are reached", () => {
  test("a recurrent layer's cell, once a step", async () => {
    const model = tf.sequential({
      name: "m",
      layers: [tf.layers.lstm({ name: "lstm", units: 2, inputShape: [3, 2] })],
    });
    const events = moduleEvents(await traceOf(model, () => model.predict(tf.ones([1, 3, 2]))));
    expect(events).toEqual([
      "> m forward",
      "> m.lstm forward",
      ...["", "#1", "#2"].flatMap((call) => [`> m.lstm.cell${call} forward`, `< m.lstm.cell${call} forward`]),
      "< m.lstm forward",
      "< m forward",
    ]);
  });

  test("wrapped layers and stacked cells", async () => {
    const model = tf.sequential({
      name: "m",
      layers: [
        tf.layers.timeDistributed({ name: "each", layer: tf.layers.dense({ units: 2 }), inputShape: [2, 3] }),
        tf.layers.bidirectional({
          name: "both",
          layer: tf.layers.simpleRNN({ units: 2, name: "rnn", returnSequences: true }) as never,
          mergeMode: "concat",
        }),
        tf.layers.rnn({ name: "deep", cell: [tf.layers.gruCell({ units: 2 }), tf.layers.gruCell({ units: 2 })] }),
      ],
    });
    const entered = moduleEvents(await traceOf(model, () => model.predict(tf.ones([1, 2, 3]))))
      .filter((line) => line.startsWith(">"))
      .map((line) => line.slice(2, -" forward".length));
    expect(entered).toEqual([
      "m",
      "m.each",
      "m.each.layer",
      "m.each.layer#1",
      "m.both",
      "m.both.forwardLayer",
      "m.both.forwardLayer.cell",
      "m.both.forwardLayer.cell#1",
      "m.both.backwardLayer",
      "m.both.backwardLayer.cell",
      "m.both.backwardLayer.cell#1",
      "m.deep",
      ...["", "#1"].flatMap((call) => [
        `m.deep.cell${call}`,
        `m.deep.cell.cells.0${call}`,
        `m.deep.cell.cells.1${call}`,
      ]),
    ]);
  });

  test("each step of a cell has its own backward pass, the last step first", async () => {
    const model = tf.sequential({
      name: "m",
      layers: [tf.layers.simpleRNN({ name: "rnn", units: 2, inputShape: [3, 2] })],
    });
    model.compile({ optimizer: "sgd", loss: "meanSquaredError" });
    const trace = await traceOf(model, () => model.trainOnBatch(tf.ones([1, 3, 2]), tf.ones([1, 2])));
    expect(moduleEvents(trace).filter((line) => line.endsWith("backward"))).toEqual([
      "> m backward",
      "> m.rnn backward",
      ...["#2", "#1", ""].flatMap((call) => [`> m.rnn.cell${call} backward`, `< m.rnn.cell${call} backward`]),
      "< m.rnn backward",
      "< m backward",
    ]);
  });
});

describe("ways to run a model", () => {
  const once = ["> net forward", "> net.head forward", "< net.head forward", "< net forward"];
  const outermost = (events: string[]) =>
    events.map((line) => line.replace(/#\d+/g, "")).filter((line) => /^[<>] net(\.head)? /.test(line));

  test.each<[string, (model: tf.LayersModel) => unknown, number]>([
    ["call", (model) => model.call(tf.ones([2, 2]), {}), 1],
    ["apply", (model) => model.apply(tf.ones([2, 2])), 1],
    ["predict, batch by batch", (model) => model.predict(tf.ones([5, 2]), { batchSize: 2 }), 3],
    ["predictOnBatch", (model) => model.predictOnBatch(tf.ones([5, 2])), 1],
    ["evaluate", (model) => model.evaluate(tf.ones([4, 2]), tf.ones([4, 1]), { batchSize: 2 }), 2],
    [
      "evaluate, with a test function made before",
      (model) => [1, 2].map(() => model.evaluate(tf.ones([2, 2]), tf.ones([2, 1]))),
      2,
    ],
  ])("%s", async (_, run, times) => {
    const model = nestedModel();
    model.compile({ optimizer: "sgd", loss: "meanSquaredError" });
    expect(outermost(moduleEvents(await traceOf(model, () => tf.tidy(() => void run(model)))))).toEqual(
      new Array(times).fill(once).flat(),
    );
  });

  test("fit, step by step; each begins anew after the last", async () => {
    const model = nestedModel();
    model.compile({ optimizer: "adam", loss: "meanSquaredError" });
    const trace = await traceOf(model, () =>
      model.fit(tf.ones([4, 2]), tf.ones([4, 1]), { epochs: 1, batchSize: 2, verbose: 0, shuffle: false }),
    );
    const lines = eventsAndOps(trace).filter((line) => /^([<>] net(#1)? |mark)/.test(line));
    const step = (net: string) => [
      ...[`> ${net} forward`, `< ${net} forward`, `> ${net} backward`, `< ${net} backward`],
      "mark minimizeUpdateStart",
      "mark updateEnd",
      "mark optimizerStep",
    ];
    expect(lines).toEqual([...step("net"), "mark resetModStats", ...step("net#1")]);
  });

  test("a layer alone is no run of the model", async () => {
    const model = nestedModel();
    const events = moduleEvents(
      await traceOf(model, () => model.getLayer("act").apply(tf.ones([1, 4])), { grouping: "none" }),
    );
    expect(events).toEqual(["> net.act forward", "< net.act forward"]);
  });

  test("building a model symbolically is no event", async () => {
    const model = nestedModel();
    const events = await traceOf(model, () => {
      model.apply(tf.input({ shape: [2] }));
      model.getLayer("shared").apply(tf.input({ shape: [2] }));
    });
    expect(moduleEvents(events)).toEqual([]);
  });

  test("outside of the dispatch mode nothing is told", () => {
    const model = nestedModel();
    const tracker = new ModTracker();
    const seen: string[] = [];
    tracker.registerUserHooks({ preForward: ({ fqn }) => seen.push(fqn) });
    tracker.track(model);
    tf.tidy(() => void model.predict(tf.ones([1, 2])));
    tracker.scope("loss", () => 1);
    expect(seen).toEqual([]);
    tracker.close();
  });
});

describe("scopes", () => {
  test("nest, in functions and around layers, and belong to backward ops", async () => {
    const layer = tf.layers.dense({ name: "proj", units: 2, inputShape: [2] });
    layer.build([1, 2]);
    const trace = await traceOf(layer, (tracker) => {
      const f = (x: tf.Tensor) =>
        tracker.scope("model", () => {
          const h = tracker.scope("block", () => tf.tanh(tf.mul(x, 2)), [x]);
          return tracker.scope("model.head", () => (layer.apply(h) as tf.Tensor).sum());
        });
      tf.tidy(() => void tf.grad(f)(tf.ones([1, 2])));
    });
    expect(moduleEvents(trace)).toEqual([
      "> model forward",
      "> model.block forward",
      "< model.block forward",
      "> model.head forward",
      "> proj forward",
      "< proj forward",
      "< model.head forward",
      "< model forward",
      "> model backward",
      "> model.head backward",
      "> proj backward",
      "< proj backward",
      "< model.head backward",
      "> model.block backward",
      "< model.block backward",
      "< model backward",
    ]);
    expect(trace.modules).toEqual([
      { fqn: "model", kind: "Scope", leaf: false },
      { fqn: "model.block", kind: "Scope", leaf: true },
      { fqn: "model.head", kind: "Scope", leaf: false },
      { fqn: "proj", kind: "Dense", leaf: true },
    ]);
  });

  test("have a name even if they are given an empty one", async () => {
    const trace = await traceOf(tf.layers.dense({ name: "proj", units: 2, inputShape: [2] }), (tracker) => {
      tracker.scope("", () => tracker.scope("", () => tf.tidy(() => void tf.tanh(tf.ones([1])))));
    });
    expect(trace.modules.map(({ fqn }) => fqn)).toEqual(["unnamed", "unnamed.unnamed"]);
  });

  test("end when their function throws, and when its promise is settled", async () => {
    const tracker = new ModTracker();
    const parents: string[][] = [];
    const note = () => parents.push([...tracker.parents]);
    await withDispatchMode(tracker, async () => {
      const bad = () => {
        tracker.scope("inner", () => {
          throw new Error("bad");
        });
      };
      expect(() => tracker.scope("outer", bad)).toThrow("bad");
      note();
      await tracker.scope("slow", async () => {
        await Promise.resolve();
        note();
      });
      note();
      await expect(tracker.scope("broken", () => Promise.reject(new Error("late")))).rejects.toThrow("late");
      note();
    });
    expect(parents).toEqual([["Global"], ["Global", "slow"], ["Global"], ["Global"]]);
  });

  test("own what is named after them", async () => {
    const w = tf.variable(tf.ones([2]));
    const mask = tf.ones([2]);
    const trace = await traceOf(undefined, (tracker) => {
      tracker.own({ "model.block.w": w }, { "model.mask": mask });
      tf.tidy(() => void tracker.scope("model", () => tracker.scope("block", () => tf.mul(tf.mul(w, mask), 2))));
    });
    const { weights } = trace;
    const rows = Array.from({ length: weights.count }, (_, i) => [
      trace.modules[weights.module[i]].fqn,
      weights.parameters.start[i + 1] - weights.parameters.start[i],
      weights.buffers.start[i + 1] - weights.buffers.start[i],
    ]);
    expect(rows).toEqual([
      ["model", 1, 1],
      ["model.block", 1, 0],
    ]);
  });
});

describe("queries and hooks", () => {
  test("parents, isBackward and activeModule, in forward and backward hooks", async () => {
    const model = nestedModel();
    model.compile({ optimizer: "sgd", loss: "meanSquaredError" });
    const tracker = new ModTracker();
    const seen: string[] = [];
    const note = (hook: string) => (module: { fqn: string }, tensors: readonly tf.Tensor[]) => {
      expect(tracker.parents.has(module.fqn)).toBe(true);
      if (!/head|^net$/.test(module.fqn)) return;
      const parents = [...tracker.parents].join(" ");
      seen.push(`${hook} ${module.fqn} [${parents}] ${tracker.isBackward} ${tensors.map(({ shape }) => shape)}`);
    };
    tracker.registerUserHooks({
      preForward: note("pre forward"),
      postForward: (module, inputs, outputs) => {
        note("post forward")(module, outputs);
        expect(inputs.length).toBeGreaterThan(0);
      },
      preBackward: note("pre backward"),
      postBackward: note("post backward"),
    });
    tracker.track(model, { grouping: "none" });
    await tracker.run(() => model.trainOnBatch(tf.ones([3, 2]), tf.ones([3, 1])));
    expect(seen).toEqual([
      "pre forward net [Global net] false 3,2",
      "pre forward net.head [Global net net.head] false 3,4",
      "pre forward net.head.out [Global net net.head net.head.out] false 3,4",
      "post forward net.head.out [Global net net.head net.head.out] false 3,1",
      "post forward net.head [Global net net.head] false 3,1",
      "post forward net [Global net] false 3,1",
      "pre backward net [Global net] true 3,1",
      "pre backward net.head [Global net net.head] true 3,1",
      "pre backward net.head.out [Global net net.head net.head.out] true 3,1",
      "post backward net.head.out [Global net net.head net.head.out] true 3,4",
      "post backward net.head [Global net net.head] true 3,4",
      // Nothing asks for the gradient of the model's input.
      "post backward net [Global net] true ",
    ]);
    expect([...tracker.parents]).toEqual(["Global"]);
    expect(tracker.activeModule).toBeUndefined();
    tracker.close();
  });

  test("getKnownFqn knows all layers of a model, called or not", () => {
    const model = nestedModel();
    const tracker = new ModTracker();
    tracker.track(model, { name: "root", grouping: "none" });
    const head = model.getLayer("head") as tf.Sequential;
    expect([model, model.getLayer("shared"), head, head.layers[0]].map((layer) => tracker.getKnownFqn(layer))).toEqual([
      "root",
      "root.shared",
      "root.head",
      "root.head.out",
    ]);
    expect(tracker.getKnownFqn(tf.layers.dense({ units: 1 }))).toBeUndefined();
    tracker.close();
    expect(tracker.getKnownFqn(model)).toBeUndefined();
  });

  test("an error about values that fake mode lacks names the module that wanted them", () => {
    const tracker = new ModTracker();
    const reading = () =>
      tracker.scope("model", () => tracker.scope("reader", () => tf.relu(tf.zeros([2000])).dataSync()));
    expect(() => fakeMode(() => tracker.run(reading))).toThrow(/kernel Relu .*in module 'model.reader'/);
    expect(() => fakeMode(() => tf.relu(tf.zeros([2000])).dataSync())).not.toThrow(/in module/);
  });

  test("one hook of a kind at a time", () => {
    const tracker = new ModTracker();
    tracker.registerUserHooks({ preForward: () => {} });
    tracker.registerUserHooks({ postForward: () => {} });
    expect(() => tracker.registerUserHooks({ preForward: () => {} })).toThrow(/preForward.*clearUserHooks/);
    tracker.clearUserHooks();
    tracker.registerUserHooks({ preForward: () => {} });
  });

  test("a forward pass inside a gradient function is a recomputation, in the module that it differentiates", async () => {
    const trace = await traceOf(undefined, (tracker) => {
      const block = (x: tf.Tensor) => tracker.scope("inner", () => tf.exp(x));
      const checkpointed = tf.customGrad((x, save) => {
        (save as (tensors: tf.Tensor[]) => void)([x as tf.Tensor]);
        const value = tf.exp(x as tf.Tensor);
        const gradFunc = (dy: tf.Tensor, saved: tf.Tensor[]) => tf.mul(dy, block(saved[0]));
        return { value, gradFunc };
      });
      tf.tidy(() => void tf.grad((x) => tracker.scope("outer", () => checkpointed(x)))(tf.ones([2])));
    });
    expect(eventsAndOps(trace)).toEqual([
      "> outer forward",
      "  Exp forward in customGrad @ outer",
      "< outer forward",
      "> outer backward",
      "> outer.inner recompute",
      "  Exp backward of customGrad @ outer.inner",
      "< outer.inner recompute",
      "  Multiply backward of customGrad @ outer",
      "< outer backward",
    ]);
  });

  test("phases of module events have names that a trace knows", () => {
    expect(phaseNames).toContain("recompute");
  });
});
