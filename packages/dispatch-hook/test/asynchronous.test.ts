import { AsyncLocalStorage } from "node:async_hooks";
import { phaseNames } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import { beforeAll, expect, test, vi } from "vitest";
import { openDispatchMode, withDispatchMode, withDispatchModeSync } from "../src/index.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

const later = () => new Promise<void>((resolve) => setTimeout(resolve, 1));
const run = (op: () => tf.Tensor) => tf.tidy(() => void op());

test("work that others do while a mode waits is outside: hidden, or shown as such", async () => {
  const hidden: string[] = [];
  const shown: string[] = [];
  const other = (async () => {
    for (let i = 0; i < 5; i++) {
      await later();
      run(() => tf.neg(tf.tensor1d([i])));
    }
  })();
  await withDispatchMode(
    {
      seesOutside: true,
      opStarting: (op) => shown.push(`starting ${op.kernel}`),
      opDone: (op) => shown.push(`${phaseNames[op.phase]} ${op.kernel} ${op.outputs.length}`),
    },
    () =>
      withDispatchMode({ opDone: (op) => hidden.push(op.kernel) }, async () => {
        run(() => tf.relu(tf.tensor1d([1])));
        await other;
        run(() => tf.exp(tf.tensor1d([1])));
        setTimeout(() => run(() => tf.sqrt(tf.tensor1d([1]))), 0);
        await later();
        await later();
      }),
  );
  expect(hidden).toEqual(["Relu", "Exp", "Sqrt"]);
  expect(shown.filter((line) => line.startsWith("outside"))).toEqual(new Array(5).fill("outside Neg 1"));
  expect(shown.filter((line) => line.startsWith("forward"))).toEqual([
    "forward Relu 1",
    "forward Exp 1",
    "forward Sqrt 1",
  ]);
});

test("gradients that others compute do not turn our phases, and dispatch is not theirs", async () => {
  const x = tf.tensor1d([1]);
  const phases: string[] = [];
  const seen: string[] = [];
  let release = () => {};
  const turn = new Promise<void>((resolve) => {
    release = resolve;
  });
  const ours = withDispatchMode(
    {
      phaseChanged: (phase) => phases.push(phaseNames[phase]),
      dispatch: (call, next) => (seen.push(call.kernel), next()),
    },
    async () => {
      await turn;
      run(() => tf.square(x));
    },
  );
  run(() => tf.grad((t) => tf.exp(t))(x));
  release();
  await ours;
  expect(phases).toEqual([]);
  expect(seen).toEqual(["Square"]);
});

test("two asynchronous modes side by side see their own work only", async () => {
  const a: string[] = [];
  const b: string[] = [];
  const work = async (op: () => tf.Tensor) => {
    for (let i = 0; i < 3; i++) {
      run(op);
      await later();
    }
  };
  await Promise.all([
    withDispatchMode({ opDone: (op) => a.push(op.kernel) }, () => work(() => tf.neg(tf.tensor1d([1])))),
    withDispatchMode({ opDone: (op) => b.push(op.kernel) }, () => work(() => tf.abs(tf.tensor1d([1])))),
  ]);
  expect(a).toEqual(["Neg", "Neg", "Neg"]);
  expect(b).toEqual(["Abs", "Abs", "Abs"]);
});

test("a mode opened by hand sees all work of the process", async () => {
  const seen: string[] = [];
  const other = later().then(() => run(() => tf.neg(tf.tensor1d([1]))));
  const close = openDispatchMode({ opDone: (op) => seen.push(op.kernel) });
  await other;
  close();
  run(() => tf.abs(tf.tensor1d([1])));
  expect(seen).toEqual(["Neg"]);
});

test("fit is inside from beginning to end", async () => {
  const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
  model.compile({ optimizer: "sgd", loss: "meanSquaredError" });
  const phases = new Set<string>();
  await withDispatchMode({ opDone: (op) => phases.add(phaseNames[op.phase]) }, () =>
    model.fit(tf.ones([4, 2]), tf.ones([4, 1]), { epochs: 2, batchSize: 2, verbose: 0 }),
  );
  expect([...phases].sort()).toEqual(["backward", "forward", "optimizer"]);
});

test("promises are tracked only while the function of a mode runs or is awaited", async () => {
  const [begun, ended] = [
    vi.spyOn(AsyncLocalStorage.prototype, "run"),
    vi.spyOn(AsyncLocalStorage.prototype, "disable"),
  ];
  const counts = () => [begun.mock.calls.length, ended.mock.calls.length];
  const close = openDispatchMode({});
  try {
    expect(withDispatchModeSync({}, () => run(() => tf.relu(tf.tensor1d([1]))))).toBeUndefined();
    expect(counts()).toEqual([0, 0]);
    withDispatchMode({}, () => withDispatchMode({}, () => expect(counts()).toEqual([2, 0])));
    expect(counts()).toEqual([2, 1]);
    const awaited = withDispatchMode({}, later);
    withDispatchMode({}, () => {});
    expect(counts()).toEqual([4, 1]);
    await awaited;
    expect(counts()).toEqual([4, 2]);
    await expect(withDispatchMode({}, () => Promise.reject(new Error("late")))).rejects.toThrow("late");
    expect(counts()).toEqual([5, 3]);
  } finally {
    close();
    vi.restoreAllMocks();
  }
});
