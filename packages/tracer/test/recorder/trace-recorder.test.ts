import { withDispatchMode } from "@remat/dispatch-hook";
import { describeTrace } from "@remat/testkit";
import { Category, OpFlag, type Trace } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import { beforeEach, describe, expect, test } from "vitest";
import { TraceRecorder } from "../../src/index.js";

beforeEach(async () => {
  await tf.setBackend("cpu");
  tf.disposeVariables();
});

/** A variable that alone holds its data. */
function weight(data: tf.Tensor, trainable: boolean, name: string): tf.Variable {
  const variable = tf.variable(data, trainable, name);
  data.dispose();
  return variable;
}

test("tensors that layers, optimizers and outside code keep are recorded, each in its category", () => {
  const layer = tf.layers.batchNormalization({ inputShape: [3] });
  layer.build([2, 3]);
  const optimizer = tf.train.momentum(0.1, 0.9);
  optimizer.minimize(() => tf.sum((layer.apply(tf.ones([2, 3]), { training: true }) as tf.Tensor).square()));
  const table = tf.ones([7]);
  const recorder = new TraceRecorder();
  withDispatchMode(recorder, () => {
    for (const external of [layer, optimizer, table, layer.weights[0].read()]) recorder.trackExternal(external);
  });
  const { storages } = recorder.trace();
  const bytesOf = (category: number): number =>
    storages.bytes.reduce((sum, bytes, i) => sum + (storages.category[i] === category ? bytes : 0), 0);
  expect([Category.parameter, Category.buffer, Category.other].map(bytesOf)).toEqual([24, 24, 28]);
  expect(bytesOf(Category.optimizerState)).toBeGreaterThanOrEqual(24);
  expect(() => recorder.trackExternal({})).toThrow("expected a layer, an optimizer or a tensor");
});

/**
 * One training step of `sum(relu(x w))` with SGD, checked by hand: x is 4 × 2 and w 2 × 3, so x has 32 bytes, w 24, the product and its
 * relu 48 each, and the loss 4.
 */
test("a training step of three ops, in which every byte is accounted for", () => {
  const w = weight(tf.ones([2, 3]), true, "w");
  const x = tf.ones([4, 2]);
  const optimizer = tf.train.sgd(0.1);
  const recorder = new TraceRecorder();
  withDispatchMode(recorder, () => optimizer.minimize(() => tf.relu(tf.matMul(x, w)).sum(), false, [w]));
  const trace = recorder.trace();
  expect(describeTrace(trace)).toEqual([
    "mark gradientsStart",
    // x and w were there before
    "+s0 32 B input",
    "+s1 24 B parameter",
    "+s2 48 B activation",
    "op 0 BatchMatMul(s0,s1) = s2 forward",
    "save s0 input of op 0",
    "save s1 input of op 0",
    "+s3 48 B activation",
    "op 1 Relu(s2) = s3 forward",
    "save s2 input of op 1",
    "+s4 4 B activation",
    "op 2 Sum(s3) = s4 forward",
    "save s3 input of op 2",
    // The gradient of the loss by itself: 1.
    "+s5 4 B temporary",
    "op 3 Reshape(s5) = s5 backward of op 2",
    "+s6 48 B temporary",
    "+s7 48 B temporary",
    "op 4 Multiply(s5,s6) = s7 backward of op 2",
    "+s8 48 B temporary",
    "op 5 Step(s2) = s8 backward of op 1",
    "op 6 Cast(s8) = s8 backward of op 1",
    "+s9 48 B temporary",
    "op 7 Multiply(s7,s8) = s9 backward of op 1",
    "-s8",
    "+s10 24 B temporary",
    "op 8 BatchMatMul(s0,s9) = s10 backward of op 0",
    // It has reached its weight.
    "s10 is gradient",
    // The end of the pass: saved tensors go, and so does the forward pass, which they held.
    "-s2",
    "-s3",
    "-s5",
    "-s6",
    "-s7",
    "-s9",
    "mark gradientsEnd",
    "mark minimizeUpdateStart",
    // w - 0.1 dw; sgd keeps its rate as a tensor.
    "+s11 4 B optimizerState",
    "+s12 24 B temporary",
    "op 9 Multiply(s11,s10) = s12 optimizer",
    "+s13 24 B temporary",
    "op 10 Add(s12,s1) = s13 optimizer",
    "-s1",
    "s13 is parameter",
    "-s12",
    "mark updateEnd",
    "-s10",
    "-s4",
    "mark optimizerStep",
  ]);
  expect(trace.header).toMatchObject({ framework: "tfjs", frameworkVersion: "4.22.0", backend: "cpu", mode: "real" });
  expect(trace.opAttributes(0)).toEqual({ transposeA: false, transposeB: false });
  expect(trace.tensorShape(trace.opOutputs(0)[0])).toEqual([4, 3]);
  // 3, 6: the reshape and the cast are views; nothing else is.
  expect([...trace.ops.flags].map((flags) => flags & OpFlag.view)).toEqual([0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0]);
});

describe("categories", () => {
  const recordedBy = (run: () => unknown): Trace => {
    const recorder = new TraceRecorder();
    withDispatchMode(recorder, () => tf.tidy(() => void run()));
    return recorder.trace();
  };
  const firstCategories = (trace: Trace) => [...trace.storages.category];

  test("of tensors made in JavaScript: input outside of gradients, other inside, temporary after the forward pass", () => {
    const x = tf.tensor1d([1, 2]);
    const trace = recordedBy(() => tf.grad((t) => tf.mul(t, tf.tensor1d([3, 4])))(tf.neg(tf.tensor1d([1, 2]))));
    expect(firstCategories(trace)).toEqual([
      Category.input,
      Category.activation,
      Category.other,
      Category.activation,
      Category.temporary,
      Category.temporary,
    ]);
    x.dispose();
  });

  test("of variables depend on their use: weight, statistics, slot", () => {
    const w = weight(tf.tensor1d([1, 2]), true, "w");
    const statistics = weight(tf.tensor1d([1, 2]), false, "statistics");
    const optimizer = tf.train.momentum(0.1, 0.9);
    const step = () =>
      optimizer.minimize(() =>
        tf.tidy(() => {
          statistics.assign(tf.mul(statistics, 0.9));
          return tf.square(w).sum().asScalar();
        }),
      );
    const categoryAtEnd = (trace: Trace) => {
      const recorder = describeTrace(trace);
      const last = new Map<string, string>();
      for (const line of recorder) {
        const allocated = /^\+(s\d+) \d+ B (\w+)$/.exec(line);
        const changed = /^(s\d+) is (\w+)$/.exec(line);
        const [, storage, category] = allocated ?? changed ?? [];
        if (storage !== undefined) last.set(storage, category);
        if (line.startsWith("-")) last.delete(line.slice(1));
      }
      return [...new Set(last.values())].sort();
    };
    const categories = ["buffer", "optimizerState", "parameter"];
    // The slot is made in the first step and known again in a trace of the second.
    expect(categoryAtEnd(recordedBy(step)).filter((name) => name !== "input")).toEqual(categories);
    expect(categoryAtEnd(recordedBy(step)).filter((name) => name !== "input")).toEqual(categories);
  });

  test("a gradient that is something else already stays what it is", () => {
    const w = tf.variable(tf.tensor1d([1, 2]), true, "w");
    const passing = tf.customGrad((x) => ({ value: tf.neg(x as tf.Tensor), gradFunc: () => w as tf.Tensor }));
    const trace = recordedBy(() => tf.variableGrads(() => passing(w).sum().asScalar(), [w]));
    expect(describeTrace(trace).filter((line) => line.endsWith("is gradient"))).toEqual([]);
  });
});

test("attributes are plain JSON: numbers that JSON lacks become text, data and undefined are left out", () => {
  const recorder = new TraceRecorder();
  withDispatchMode(recorder, () =>
    tf.tidy(() => {
      tf.fill([2], Number.POSITIVE_INFINITY);
      tf.engine().runKernel("Relu", { x: tf.ones([1]) }, {
        big: new Float32Array(1000),
        none: undefined,
        f: () => 1,
      } as never);
      tf.engine().runKernel("Relu", { x: tf.ones([1]) }, {
        list: new Int32Array([1, 2]),
        deep: { nan: Number.NaN },
      } as never);
    }),
  );
  const trace = recorder.trace();
  expect([0, 1, 2].map((op) => trace.opAttributes(op))).toEqual([
    { shape: [2], value: "Infinity", dtype: "float32" },
    {},
    { list: [1, 2], deep: { nan: "NaN" } },
  ]);
});

test("two recorders, one opened later, write the same from there on", () => {
  const outer = new TraceRecorder();
  const inner = new TraceRecorder();
  withDispatchMode(outer, () =>
    tf.tidy(() => {
      tf.neg(tf.tensor1d([1]));
      withDispatchMode(inner, () => tf.grad((t) => tf.exp(t))(tf.tensor1d([1])));
    }),
  );
  const withoutNumbers = (trace: Trace) => describeTrace(trace).map((line) => line.replace(/s?\d+/g, "_"));
  const lines = withoutNumbers(inner.trace());
  expect(withoutNumbers(outer.trace()).slice(3, 3 + lines.length)).toEqual(lines);
});

test("work outside is recorded as such, or not", async () => {
  const later = () => new Promise<void>((resolve) => setTimeout(resolve, 1));
  const traceOf = async (outside: boolean) => {
    const recorder = new TraceRecorder({ outside });
    const other = later().then(() => tf.tidy(() => void tf.neg(tf.tensor1d([1]))));
    await withDispatchMode(recorder, async () => {
      await other;
      tf.tidy(() => void tf.abs(tf.tensor1d([1])));
    });
    return describeTrace(recorder.trace()).filter((line) => line.startsWith("op"));
  };
  expect(await traceOf(true)).toEqual(["op 0 Neg(s0) = s1 outside", "op 1 Abs(s2) = s3 forward"]);
  expect(await traceOf(false)).toEqual(["op 0 Abs(s0) = s1 forward"]);
});
