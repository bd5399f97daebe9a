import { Category, EventKind, Phase, row, type Trace } from "@remat/trace";
import "@tensorflow/tfjs-backend-cpu";
import * as tf from "@tensorflow/tfjs-core";
import { layers } from "@tensorflow/tfjs-layers";
import { beforeAll, describe, expect, it } from "vitest";
import { lossNames, type ModelContext, optimizerNames, traceFakeStep, traceStep } from "../src/index.js";

beforeAll(() => tf.setBackend("cpu"));

function mlp({ tf, batch = 4 }: ModelContext) {
  const model = tf.sequential({
    name: "mlp",
    layers: [
      tf.layers.dense({ name: "first", units: 8, activation: "relu", inputShape: [6] }),
      tf.layers.dense({ name: "second", units: 3, activation: "softmax" }),
    ],
  });
  return { model, inputs: tf.ones([batch, 6]), notes: "a note of its own" };
}

function ops(trace: Trace): string[] {
  return Array.from({ length: trace.ops.count }, (_, op) => {
    const shapes = Array.from(
      trace.opOutputs(op),
      (tensor) => `${trace.tensorDtype(tensor)}[${trace.tensorShape(tensor).join(",")}]`,
    );
    return `${trace.ops.phase[op]} ${trace.opModule(op)?.fqn ?? "-"} ${trace.opName(op)} ${shapes.join(" ")}`;
  });
}

describe("traceFakeStep", () => {
  it.each(["none", ...optimizerNames])(
    "sees the ops, modules and shapes of a real step (optimizer %s)",
    async (optimizer) => {
      const options = { optimizer, grouping: "none" as const, steps: 2, stepsBefore: 0 };
      const fake = await traceFakeStep(mlp, { ...options, backend: "cpu" });
      const real = await traceStep(mlp, options);
      expect(ops(fake)).toEqual(ops(real));
      expect(fake.header).toMatchObject({ mode: "fake", backend: "cpu", model: "mlp" });
      expect(real.header).toMatchObject({ mode: "real", backend: "cpu", model: "mlp" });
      expect(fake.hasPhase(Phase.optimizer)).toBe(optimizer !== "none");
    },
  );

  it("traces a later step as one in a row, with the optimizer's state there before its first op", async () => {
    const options = { optimizer: "adam", grouping: "none" as const };
    const [two, second] = [
      await traceFakeStep(mlp, { ...options, steps: 2, stepsBefore: 0 }),
      await traceFakeStep(mlp, options),
    ];
    expect(ops(second)).toEqual(ops(two).slice(-second.ops.count));
    const { events, storages } = second;
    const firstOp = events.kind.indexOf(EventKind.op);
    let stateBytes = 0;
    for (let i = 0; i < firstOp; i++)
      if (events.kind[i] === EventKind.allocate && storages.category[events.subject[i]] === Category.optimizerState)
        stateBytes += storages.bytes[events.subject[i]];
    const weights = 6 * 8 + 8 + 8 * 3 + 3;
    expect(stateBytes).toBeGreaterThanOrEqual(2 * weights * 4);
  });

  it.each(lossNames)("takes the loss %s, and says so", async (loss) => {
    const trace = await traceFakeStep(mlp, { loss });
    expect(trace.hasPhase(Phase.backward)).toBe(true);
    expect(trace.header.notes?.[0]).toBe("a note of its own");
    expect(trace.header.notes?.[1]).toContain("no loss in the model");
  });

  it("gives each weight's gradient its category", async () => {
    const { events, storages } = await traceFakeStep(mlp, { grouping: "none" });
    const gradients = new Set<number>();
    for (let i = 0; i < events.count; i++)
      if (events.kind[i] === EventKind.categorize && events.value[i] === Category.gradient)
        gradients.add(events.subject[i]);
    expect(Array.from(gradients, (storage) => storages.bytes[storage]).sort((a, b) => a - b)).toEqual([
      3 * 4,
      8 * 4,
      8 * 3 * 4,
      6 * 8 * 4,
    ]);
  });

  it("runs the model's own loss on its targets, and a function's parameters", async () => {
    const trace = await traceFakeStep(
      ({ tf: t, scope }: ModelContext) => {
        const w = t.variable(t.ones([6, 2]));
        return {
          name: "linear",
          forward: (x: tf.Tensor2D) =>
            scope("linear", () => scope("project", () => t.matMul(x, w as unknown as tf.Tensor2D))),
          parameters: { "linear.project.w": w },
          inputs: t.ones([5, 6]),
          targets: t.zeros([5, 2]),
          loss: (y: tf.Tensor, target: tf.Tensor) => t.losses.meanSquaredError(target, y),
        };
      },
      { optimizer: "none" },
    );
    expect(trace.header.notes).toEqual([]);
    expect(trace.modules.map(({ fqn, leaf }) => [fqn, leaf])).toEqual([
      ["linear", false],
      ["linear.project", true],
    ]);
    expect(ops(trace)).toContain(`${Phase.backward} linear.project BatchMatMul float32[6,2]`);
  });

  it("gives inputs to a LayersModel that comes alone", async () => {
    const trace = await traceFakeStep(
      ({ tf: t }: ModelContext) =>
        t.sequential({ layers: [t.layers.embedding({ inputDim: 10, outputDim: 4, inputLength: 7 })] }),
      { batch: 3, grouping: "none" },
    );
    expect(ops(trace).some((op) => op.endsWith("float32[3,7,4]"))).toBe(true);
  });

  it("takes images of 224 x 224 for a model of any size of them, and says so", async () => {
    const trace = await traceFakeStep(
      ({ tf: t }: ModelContext) => {
        const image = t.input({ shape: [null, null, 3], name: "image" });
        const seen = t.layers.conv2d({ filters: 2, kernelSize: 1 }).apply(image);
        const pooled = t.layers.globalAveragePooling2d({}).apply(seen as never);
        return t.model({ inputs: image, outputs: pooled as never });
      },
      { batch: 2, grouping: "none" },
    );
    expect(ops(trace).some((op) => op.endsWith("float32[2,224,224,2]"))).toBe(true);
    expect(trace.header.notes).toContain(
      "input image takes images of any size [any, any, any, 3]: 224 x 224 were assumed",
    );
  });

  it.each([
    [[null], "[any, any]: 128 steps", "[2,128,4]"],
    [[null, 3], "[any, any, 3]: 128 steps", "[2,128,4]"],
    [[null, 5, 5, 2], "[any, any, 5, 5, 2]: 16 steps", "[2,16,5,5,4]"],
  ])("takes sequences for a model of any length of them, and says so: %j", async (shape, assumed, made) => {
    const trace = await traceFakeStep(
      ({ tf: t }: ModelContext) => {
        const isText = shape.length === 1;
        const x = t.input({ shape, name: "x", ...(isText && { dtype: "int32" }) });
        const layer = isText ? t.layers.embedding({ inputDim: 9, outputDim: 4 }) : t.layers.dense({ units: 4 });
        return t.model({ inputs: x, outputs: layer.apply(x) as never });
      },
      { batch: 2, grouping: "none" },
    );
    expect(ops(trace).some((op) => op.endsWith(`float32${made}`))).toBe(true);
    expect(trace.header.notes).toContainEqual(
      expect.stringContaining(` takes sequences of any length ${assumed} were assumed`),
    );
  });

  it.each([
    [() => ({ model: {}, inputs: [] }), "field 'model': expected a tf.LayersModel"],
    [() => ({ forward: () => 1, inputs: "x" }), `field 'inputs': expected a tensor, found "x"`],
    [
      ({ tf: t }: ModelContext) =>
        t.sequential({ layers: [t.layers.conv2d({ filters: 1, kernelSize: 3, inputShape: [null, null, 7] })] }),
      "only the batch size may be unknown",
    ],
    [
      ({ tf: t }: ModelContext) =>
        t.sequential({ layers: [t.layers.dense({ units: 1, inputShape: [2], trainable: false })] }),
      "the model has no trainable weight",
    ],
  ])("refuses what it cannot run, naming the field", async (exported, message) => {
    await expect(traceFakeStep(exported)).rejects.toThrow(message);
    expect(tf.getBackend()).toBe("cpu");
  });

  it("refuses losses and optimizers that are not there, listing those that are", async () => {
    await expect(traceFakeStep(mlp, { loss: "hinge" })).rejects.toThrow(/unknown loss "hinge"\. Choose one of sum, /);
    await expect(traceFakeStep(mlp, { optimizer: "lion" })).rejects.toThrow(
      /unknown optimizer "lion"\. Choose one of sgd, /,
    );
  });

  it("leaves no tensor behind", async () => {
    const before = { ...tf.memory() };
    await traceFakeStep(mlp, { optimizer: "adam" });
    expect(tf.memory()).toEqual(before);
  });
});

it("takes a definition that a class makes, whose methods read its fields", async () => {
  class Net {
    private readonly context: ModelContext;
    readonly name = "Net";
    readonly parameters: Record<string, tf.Variable>;
    private readonly scale: tf.Scalar;

    constructor(context: ModelContext) {
      this.context = context;
      this.parameters = { "Net.weight": tf.variable(tf.ones([3, 2])) };
      this.scale = tf.scalar(0.5);
    }
    get inputs(): tf.Tensor {
      return tf.ones([4, 3]);
    }
    forward(x: tf.Tensor): tf.Tensor {
      return this.context.scope("Net", () => tf.matMul(x, this.parameters["Net.weight"]));
    }
    loss(y: tf.Tensor): tf.Scalar {
      return tf.sum(tf.mul(y, this.scale));
    }
  }
  const trace = await traceFakeStep((context: ModelContext) => new Net(context) as never, { optimizer: "none" });
  expect(trace.header.model).toBe("Net");
  const forward = ops(trace).filter((op) => op.startsWith(`${Phase.forward} `));
  expect(forward).toEqual([
    `${Phase.forward} Net BatchMatMul float32[4,2]`,
    `${Phase.forward} - Multiply float32[4,2]`,
    `${Phase.forward} - Sum float32[]`,
  ]);
});

describe("a definition that is an object of a class, whose forward calls layers that it holds", () => {
  class Block {
    readonly inner = layers.dense({ units: 4, activation: "relu" });
    forward(x: tf.Tensor): tf.Tensor {
      return tf.add(x, this.inner.apply(x) as tf.Tensor);
    }
  }
  class Net {
    readonly name = "net";
    readonly inputs = tf.ones([2, 4]);
    readonly blocks = [new Block(), new Block()];
    readonly head = layers.dense({ units: 1 });
    forward(x: tf.Tensor): tf.Tensor {
      return this.head.apply(this.blocks.reduce((y, block) => block.forward(y), x)) as tf.Tensor;
    }
  }

  it("has them for modules, with their weights", async () => {
    const trace = await traceFakeStep(() => new Net());
    expect(trace.modules.map(({ fqn, leaf }) => [fqn, leaf])).toEqual([
      ["net", false],
      ["net.blocks.0", false],
      ["net.blocks.0.inner", true],
      ["net.blocks.1", false],
      ["net.blocks.1.inner", true],
      ["net.head", true],
    ]);
    const owned = Array.from({ length: trace.weights.count }, (_, i) => row(trace.weights.parameters, i).length);
    expect(owned.toSorted((a, b) => a - b)).toEqual([2, 2, 2, 2, 2, 6]);
  });

  it("also where it brings its own loss, though its layers have no weights before they are first called", async () => {
    class WithLoss extends Net {
      loss(y: tf.Tensor): tf.Scalar {
        return tf.mean(tf.square(y));
      }
    }
    const trace = await traceFakeStep(() => new WithLoss());
    expect(trace.modules.map(({ fqn }) => fqn)).toContain("net.blocks.1.inner");
  });
});
