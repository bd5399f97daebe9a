import * as tf from "@tensorflow/tfjs";
import { beforeEach, expect, test } from "vitest";
import { moduleEvents, traceOf } from "./events.js";

beforeEach(async () => {
  await tf.setBackend("cpu");
  tf.disposeVariables();
});

/** A layer of a user's own, which calls what `held` holds in the order of `order`. */
class Custom extends tf.layers.Layer {
  static readonly className = "Custom";
  readonly held: unknown;
  private readonly order: () => tf.layers.Layer[];

  constructor(name: string, held: unknown, order: () => tf.layers.Layer[]) {
    super({ name });
    this.held = held;
    this.order = order;
  }

  override call(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor {
    return this.order().reduce((x, layer) => layer.apply(x) as tf.Tensor, [inputs].flat()[0]);
  }
}

const dense = (): tf.layers.Layer => tf.layers.dense({ units: 2, kernelInitializer: "ones" });

const layersHeld = (count: number) => Array.from({ length: count }, dense);

test.each<[string, (layers: tf.layers.Layer[]) => unknown, string[]]>([
  ["a plain object", ([first, second]) => ({ first, second }), ["held.first", "held.second"]],
  ["an object without a prototype", ([first]) => Object.assign(Object.create(null), { first }), ["held.first"]],
  [
    "a Map",
    ([first, second]) =>
      new Map<unknown, unknown>([
        ["first", first],
        [7, second],
      ]),
    ["held.first", "held.7"],
  ],
  [
    "a Map by objects",
    ([first, second]) =>
      new Map([
        [{}, first],
        [{}, second],
      ]),
    ["held.0", "held.1"],
  ],
  ["a Set", ([first, second]) => new Set([first, second]), ["held.0", "held.1"]],
  ["a list of lists", ([first, second]) => [[first], [second]], ["held.0.0", "held.1.0"]],
  [
    "objects, Maps and lists inside each other, beside other things",
    ([first, second, third]) => ({
      blocks: new Map([["x", [first, { deep: second }]]]),
      n: 3,
      none: null,
      last: third,
    }),
    ["held.blocks.x.0", "held.blocks.x.1.deep", "held.last"],
  ],
  ["keys with dots", ([first]) => ({ "a.b": first }), ["held.a_b"]],
])("layers of a layer that are held in %s", async (_, hold, names) => {
  const layers = layersHeld(names.length);
  const model = new Custom("net", hold(layers), () => layers);
  const trace = await traceOf(model, () => model.apply(tf.ones([1, 2])));
  const fqns = names.map((name) => `net.${name}`);
  expect(moduleEvents(trace)).toEqual(
    ["> net", ...fqns.flatMap((fqn) => [`> ${fqn}`, `< ${fqn}`]), "< net"].map((line) => `${line} forward`),
  );
});

test("an object that holds itself, and a layer that is held twice", async () => {
  const [first] = layersHeld(1);
  const held: Record<string, unknown> = { first, again: { first } };
  held.self = held;
  const model = new Custom("net", held, () => [first]);
  const trace = await traceOf(model, (tracker) => {
    expect(tracker.modules.map(({ fqn }) => fqn)).toEqual(["net", "net.held.first"]);
    return model.apply(tf.ones([1, 2]));
  });
  expect(trace.modules.map(({ fqn }) => fqn)).toEqual(["net", "net.held.first"]);
});

test("a field of the name that models have for their layers makes no model", async () => {
  class Block extends tf.layers.Layer {
    static readonly className = "Block";
    readonly layers = layersHeld(2);
    override call(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor {
      return this.layers.reduce((x, layer) => layer.apply(x) as tf.Tensor, [inputs].flat()[0]);
    }
  }
  const trace = await traceOf(new Block({ name: "net" }), (tracker) => {
    expect(tracker.modules.map(({ fqn }) => fqn)).toEqual(["net", "net.layers.0", "net.layers.1"]);
  });
  expect(trace.modules).toEqual([]);
});

test("between other layers a layer that holds several stands alone, though it has made no weights yet", async () => {
  const inner = layersHeld(2);
  const block = new Custom("block", new Map(inner.map((layer, i) => [`at${i}`, layer])), () => inner);
  const model = tf.sequential({
    name: "net",
    layers: [
      tf.layers.dense({ name: "before", units: 2, inputShape: [2] }),
      block,
      tf.layers.activation({ name: "after", activation: "relu" }),
    ],
  });
  await traceOf(model, (tracker) => {
    expect(tracker.modules.map(({ fqn }) => fqn)).toEqual([
      "net",
      "net.before",
      "net.block",
      "net.block.held.at0",
      "net.block.held.at1",
      "net.after",
    ]);
  });
});
