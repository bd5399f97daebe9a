import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import fc from "fast-check";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fakeMode } from "../src/fake/index.js";
import { type CloseMode, type OpDone, openDispatchMode, storagesOf, withDispatchMode } from "../src/index.js";

const optimizers = [
  tf.Optimizer,
  tf.SGDOptimizer,
  tf.MomentumOptimizer,
  tf.AdamOptimizer,
  tf.AdamaxOptimizer,
  tf.AdagradOptimizer,
  tf.AdadeltaOptimizer,
  tf.RMSPropOptimizer,
];

/** Every object that the hook may touch, by name. */
function touched(): Map<string, object> {
  const engine = tf.engine() as unknown as { registry: Record<string, object> } & object;
  const objects = new Map<string, object>([
    ["engine", engine],
    ["Engine.prototype", Object.getPrototypeOf(engine)],
    ["Tensor.prototype", tf.Tensor.prototype],
    ["Variable.prototype", tf.Variable.prototype],
    ["DataStorage.prototype", tf.DataStorage.prototype],
  ]);
  for (const optimizer of optimizers) objects.set(optimizer.name, optimizer.prototype);
  for (const [name, backend] of Object.entries(engine.registry)) {
    objects.set(`backend ${name}`, backend);
    for (const [key, value] of Object.entries(backend))
      if (value instanceof tf.DataStorage) objects.set(`${name}.${key}`, value);
    for (const kernel of tf.getKernelsForBackend(name)) objects.set(`${name}/${kernel.kernelName}`, kernel);
  }
  return objects;
}

/** Own properties with everything that describes them, but for what the engine itself changes as it works. */
function descriptors(): Map<string, [string | symbol, PropertyDescriptor][]> {
  const volatile = new Set<string | symbol>(["state", "dataIdsCount", "dataIdNextNumber", "firstUse"]);
  return new Map(
    [...touched()].map(([name, object]) => [
      name,
      Reflect.ownKeys(object)
        .filter((key) => !volatile.has(key))
        .map((key) => [key, Object.getOwnPropertyDescriptor(object, key) as PropertyDescriptor]),
    ]),
  );
}

const dispatching = () => ({ dispatch: (_: unknown, next: () => tf.TensorInfo | tf.TensorInfo[]) => next() });

function step(): void {
  const w = tf.variable(tf.tensor1d([1, 2]));
  tf.train.adam(0.1).minimize(() => tf.square(w).sum().asScalar());
  w.dispose();
}

describe("closing the last mode", () => {
  let before: ReturnType<typeof descriptors>;
  beforeAll(async () => {
    await tf.setBackend("wasm");
    await tf.setBackend("cpu");
    step();
  });
  beforeEach(() => {
    before = descriptors();
  });
  const expectRestored = () => expect(descriptors()).toEqual(before);

  test("the list of touched objects is not empty, and a change is seen", () => {
    const close = openDispatchMode(dispatching());
    step();
    expect(descriptors()).not.toEqual(before);
    close();
    expectRestored();
  });

  test("restores the engine after a value", () => {
    expect(withDispatchMode(dispatching(), () => (step(), 7))).toBe(7);
    expectRestored();
  });

  test("after an exception, in the function, a kernel, a loss", () => {
    const bad = () => {
      throw new Error("bad");
    };
    expect(() => withDispatchMode({}, bad)).toThrow("bad");
    expectRestored();
    expect(() => withDispatchMode({ dispatch: bad }, step)).toThrow("bad");
    expectRestored();
    expect(() => withDispatchMode({ opDone: bad }, step)).toThrow("bad");
    expectRestored();
    expect(() => withDispatchMode({}, () => tf.tidy(() => tf.variableGrads(bad)))).toThrow("bad");
    expectRestored();
    // And the engine works.
    expect(tf.engine().state.kernelDepth).toBe(0);
    step();
  });

  test("after a promise, kept or broken", async () => {
    await withDispatchMode({}, async () => {
      await Promise.resolve();
      step();
    });
    expectRestored();
    const broken = withDispatchMode({}, async () => {
      await Promise.resolve();
      throw new Error("late");
    });
    await expect(broken).rejects.toThrow("late");
    expectRestored();
  });

  test("modes are told that they are open, and closed", () => {
    const told: string[] = [];
    const mode = (name: string) => ({
      opened: () => told.push(`${name} open`),
      closed: () => told.push(`${name} closed`),
    });
    withDispatchMode(mode("a"), () => withDispatchMode(mode("b"), () => told.push("run")));
    const failing = {
      opened: () => {
        throw new Error("not now");
      },
    };
    expect(() => withDispatchMode(failing, () => told.push("never"))).toThrow("not now");
    expect(told).toEqual(["a open", "b open", "run", "b closed", "a closed"]);
    expectRestored();
  });

  test("with another backend set meanwhile", async () => {
    await withDispatchMode(dispatching(), async () => {
      await tf.setBackend("wasm");
      tf.tidy(() => void tf.relu(tf.tensor1d([1])));
      await tf.setBackend("cpu");
    });
    expectRestored();
  });

  test("with fake mode inside, and around", async () => {
    const seen: string[] = [];
    const mode = {
      ...dispatching(),
      opDone: (op: OpDone) => seen.push(`${op.kernel} ${op.outputs.flatMap(storagesOf).map(({ bytes }) => bytes)}`),
    };
    const run = () => tf.tidy(() => void tf.relu(tf.zeros([1000, 1000])));
    withDispatchMode(mode, () => fakeMode(run));
    fakeMode(() => withDispatchMode(mode, run));
    await fakeMode(async () => {
      const close = openDispatchMode(mode);
      await Promise.resolve();
      run();
      close();
    });
    expect(seen).toEqual(new Array(3).fill("Relu 4000000"));
    expectRestored();
  });

  test("in any order of opening and closing", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat()), { maxLength: 20 }), (actions) => {
        const open: CloseMode[] = [];
        for (const [opens, which] of actions) {
          if (opens || open.length === 0) open.push(openDispatchMode(dispatching()));
          else {
            const [close] = open.splice(which % open.length, 1);
            close();
            close();
          }
          step();
        }
        for (const close of open) close();
        expectRestored();
      }),
      { numRuns: 25 },
    );
  });

  test("leaves what somebody has patched on top, and what was patched before", () => {
    const engine = tf.engine() as unknown as Record<string, (...args: unknown[]) => unknown>;
    const calls: string[] = [];
    const original = engine.runKernelFunc;
    const first = function (this: unknown, ...args: unknown[]) {
      calls.push("first");
      return original.apply(this, args);
    };
    engine.runKernelFunc = first;
    const close = openDispatchMode({ opDone: () => calls.push("mode") });
    const ours = engine.runKernelFunc;
    engine.runKernelFunc = function (this: unknown, ...args: unknown[]) {
      calls.push("second");
      return ours.apply(this, args);
    };
    close();
    tf.tidy(() => void tf.relu(tf.tensor1d([1])));
    expect(calls).toEqual(["second", "first"]);
    engine.runKernelFunc = first;
    withDispatchMode({ opDone: () => calls.push("mode") }, () => tf.tidy(() => void tf.relu(tf.tensor1d([1]))));
    expect(calls).toEqual(["second", "first", "first", "mode"]);
    expect(engine.runKernelFunc).toBe(first);
    delete engine.runKernelFunc;
    expectRestored();
  });
});
