import { row } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import { beforeEach, expect, test } from "vitest";
import { isForwardModule, ModTracker } from "../src/index.js";
import { moduleEvents, traceOf } from "./events.js";

beforeEach(async () => {
  await tf.setBackend("cpu");
  tf.disposeVariables();
});

const dense = (): tf.layers.Layer => tf.layers.dense({ units: 2, kernelInitializer: "ones" });

class Block {
  readonly inner = dense();
  readonly act = tf.layers.activation({ activation: "tanh" });
  forward(x: tf.Tensor): tf.Tensor {
    return tf.add(x, this.act.apply(this.inner.apply(x)) as tf.Tensor);
  }
}

/** No layer, as people write models who come from PyTorch. */
class Net {
  readonly stem = dense();
  readonly blocks = [new Block(), new Block()];
  readonly head = { out: dense() };
  readonly scale = tf.variable(tf.scalar(2));
  forward(x: tf.Tensor, _options?: { training: boolean }): tf.Tensor {
    const h = this.blocks.reduce((y, block) => block.forward(y), this.stem.apply(x) as tf.Tensor);
    return tf.mul(this.head.out.apply(h) as tf.Tensor, this.scale);
  }
}

const fqns = (tracker: ModTracker) => tracker.modules.map(({ fqn, kind, leaf }) => [fqn, kind, leaf]);

test("an object that holds layers, and objects of its like, is a module, forward and backward", async () => {
  const net = new Net();
  const trace = await traceOf(
    net,
    (tracker) => {
      expect(fqns(tracker)).toEqual([
        ["net", "Net", false],
        ["net.stem", "Dense", true],
        ["net.blocks.0", "Block", false],
        ["net.blocks.0.inner", "Dense", true],
        ["net.blocks.0.act", "Activation", true],
        ["net.blocks.1", "Block", false],
        ["net.blocks.1.inner", "Dense", true],
        ["net.blocks.1.act", "Activation", true],
        ["net.head.out", "Dense", true],
      ]);
      expect(tracker.getKnownFqn(net.blocks[1])).toBe("net.blocks.1");
      tf.tidy(() => tf.grad((x) => net.forward(x, { training: true }))(tf.ones([1, 2])));
    },
    { name: "net" },
  );
  const calls = (phase: string) => moduleEvents(trace).filter((line) => line.endsWith(phase));
  const inOrder = (name: string) => [`> ${name} forward`, `< ${name} forward`];
  const block = (i: number) => [
    `> net.blocks.${i} forward`,
    ...inOrder(`net.blocks.${i}.inner`),
    ...inOrder(`net.blocks.${i}.act`),
    `< net.blocks.${i} forward`,
  ];
  expect(calls("forward")).toEqual([
    "> net forward",
    ...inOrder("net.stem"),
    ...block(0),
    ...block(1),
    ...inOrder("net.head.out"),
    "< net forward",
  ]);
  expect(calls("backward").filter((line) => line.includes("blocks.1 "))).toEqual([
    "> net.blocks.1 backward",
    "< net.blocks.1 backward",
  ]);
});

test("its weights are those of its layers, made in their first call, and what is said to belong to it", async () => {
  const net = new Net();
  const trace = await traceOf(
    net,
    (tracker) => {
      tracker.own({ "net.scale": net.scale });
      tf.tidy(() => net.forward(tf.ones([1, 2])));
    },
    { name: "net" },
  );
  const counts: Record<string, number> = {};
  for (let i = 0; i < trace.weights.count; i++)
    counts[trace.modules[trace.weights.module[i]].fqn] = row(trace.weights.parameters, i).length;
  expect(counts).toMatchObject({ net: 9, "net.stem": 2, "net.blocks.0": 2, "net.head.out": 2 });
});

test("a layer that holds such an object, which knows what holds it", async () => {
  class Around extends tf.layers.Layer {
    static readonly className = "Around";
    readonly part: Block & { parent?: unknown } = Object.assign(new Block(), { parent: this as unknown });
    override call(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor {
      return this.part.forward([inputs].flat()[0]);
    }
  }
  const around = new Around({ name: "around" });
  const trace = await traceOf(around, (tracker) => {
    expect(fqns(tracker).map(([fqn]) => fqn)).toEqual([
      "around",
      "around.part",
      "around.part.inner",
      "around.part.act",
    ]);
    return around.apply(tf.ones([1, 2]));
  });
  expect(moduleEvents(trace)[1]).toBe("> around.part forward");
});

test("an object without layers, or without a forward function, is not a module", () => {
  class Plain {
    readonly layer = dense();
  }
  const lists = { forward: () => {}, items: [1, 2], other: { forward: () => {} } };
  expect([new Plain(), lists, new Net().stem, tf.scalar(1), null, () => {}].map(isForwardModule)).toEqual(
    Array(6).fill(false),
  );
  expect([new Net(), { forward: () => {}, parts: new Map([["a", new Block()]]) }].map(isForwardModule)).toEqual([
    true,
    true,
  ]);
  const self: Record<string, unknown> = { forward: () => {} };
  self["self"] = self;
  expect(isForwardModule(self)).toBe(false);
});

test("closing puts its forward back, and tells nothing of what runs then", () => {
  const net = new Net();
  const tracker = new ModTracker();
  const module = tracker.track(net);
  expect(module.fqn).toBe("Net");
  expect(Object.hasOwn(net, "forward")).toBe(true);
  tracker.close();
  expect(Object.hasOwn(net, "forward")).toBe(false);
  expect(Object.hasOwn(net.blocks[0], "forward")).toBe(false);
});
