import { openDispatchMode } from "@remat/dispatch-hook";
import { dailyRuns } from "@remat/testkit";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { programs, runProgram } from "../../../dispatch-hook/test/programs.js";
import { Executor } from "../../src/executor/executor.js";
import { EvictingPolicy, evicting } from "./evict-all.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

const counts = () => {
  const { numTensors, numBytes, numDataBuffers } = tf.memory();
  return { numTensors, numBytes, numDataBuffers, dataIds: tf.backend().numDataIds() };
};

const gradientOf = (f: (x: tf.Tensor) => tf.Tensor) => () =>
  tf.tidy(() => [
    ...tf
      .grad((x) => f(x))(tf.tensor1d([0.5, -1.5, 2, 3]))
      .dataSync(),
  ]);

/** Stock's answer and ours, and nothing is left. */
function sameAsStock(run: () => unknown): EvictingPolicy {
  const values = (around: (run: () => unknown) => unknown) => {
    const before = counts();
    const value = around(run);
    const after = counts();
    return { value, left: Object.entries(after).map(([name, count]) => count - before[name as keyof typeof before]) };
  };
  const stock = values((each) => each());
  const policy = new EvictingPolicy();
  expect(values((each) => evicting(each, policy))).toEqual(stock);
  expect(policy.evictions).toBeGreaterThan(0);
  expect(policy.replays).toBeGreaterThan(0);
  return policy;
}

test("whatever is evicted whenever, any program gives what it gives in stock, to the bit, and leaves as many tensors, bytes and buffers", () => {
  fc.assert(
    fc.property(programs, fc.infiniteStream(fc.boolean()), fc.boolean(), (program, choices, all) => {
      const isChosen = () => all || choices.next().value === true;
      expect(runProgram(program, (step) => evicting(step, new EvictingPolicy(isChosen)))).toEqual(runProgram(program));
    }),
    { numRuns: dailyRuns(60) },
  );
});

describe("variables", () => {
  test("an assigned variable's old value is what replays read", () => {
    sameAsStock(() => {
      const statistics = tf.variable(tf.tensor1d([1, 2, 3, 4]), false);
      const run = gradientOf((x) => {
        const scaled = tf.sin(tf.mul(x, statistics));
        statistics.assign(tf.add(statistics, tf.mean(scaled)));
        return tf.mul(scaled, statistics).sum();
      });
      const values = [run(), run(), [...statistics.dataSync()]];
      statistics.dispose();
      return values;
    });
  });

  test("a variable that takes over something that was evicted has it, and keeps it", () => {
    sameAsStock(() => {
      const taken = tf.variable(tf.zeros([4]), false);
      const values = gradientOf((x) => {
        const h = tf.exp(tf.sin(x));
        tf.cos(x);
        taken.assign(h);
        tf.tanh(x);
        return tf.mul(h, taken).sum();
      })();
      const result = [values, [...taken.dataSync()]];
      taken.dispose();
      return result;
    });
  });
});

describe("tensors that user code holds", () => {
  test("is there when it is read in the middle, kept, or read afterwards", () => {
    const kept: tf.Tensor[] = [];
    sameAsStock(() => {
      const seen: unknown[] = [];
      const gradient = gradientOf((x) => {
        const h = tf.sin(x);
        const k = tf.keep(tf.exp(h));
        kept.push(k);
        const y = tf.cos(k);
        seen.push([...h.dataSync()], [...k.dataSync()]);
        return tf.mul(y, h).sum();
      })();
      const [k] = kept.splice(0);
      seen.push(gradient, [...k.dataSync()]);
      k.dispose();
      return seen;
    });
  });

  test("lists that it changes after an op do not change what is recomputed", () => {
    sameAsStock(() =>
      gradientOf((x) => {
        const order = [1, 0];
        const paddings: [number, number][] = [
          [1, 0],
          [0, 1],
        ];
        const turned = tf.pad(tf.transpose(tf.reshape(tf.sin(x), [2, 2]), order), paddings);
        order.reverse();
        paddings[0][0] = 0;
        return tf.mul(turned, tf.exp(turned)).sum();
      })(),
    );
  });
});

test("several outputs, views and parts of one buffer come back together", () => {
  sameAsStock(() =>
    gradientOf((x) => {
      const [a, b] = tf.split(tf.sin(tf.reshape(x, [2, 2])), 2);
      const [c, d] = tf.unstack(tf.exp(tf.concat([a, b], 1).reshape([2, 2])));
      const { values } = tf.topk(tf.square(tf.tensor1d([2, 3])), 1);
      return tf.add(tf.mul(a.reshape([2]), c), tf.mul(tf.slice(d, 0, 2), values)).sum();
    })(),
  );
});

test("random numbers of a kernel are never drawn again", () => {
  const drawn: number[][] = [];
  const policy = new EvictingPolicy();
  evicting(
    () =>
      gradientOf((x) => {
        const picks = tf.multinomial(tf.tensor2d([[1, 1, 1, 1]]) as tf.Tensor2D, 200, 3);
        const taken = tf.gather(tf.sin(x), picks.reshape([200]));
        drawn.push([...picks.dataSync()]);
        tf.exp(x);
        drawn.push([...picks.dataSync()]);
        return taken.sum();
      })(),
    policy,
  );
  expect(drawn[1]).toEqual(drawn[0]);
  expect(policy.evictions).toBeGreaterThan(0);
});

test("a kernel that fails, in its first run or in a replay, leaves the engine as it was", () => {
  const before = counts();
  const { state } = tf.engine();
  let fails = 0;
  const failing = (at: number) =>
    gradientOf((x) => {
      const h = tf.sin(x);
      const y = tf.exp(h);
      return tf.mul(y, h).sum();
    }) &&
    (() => {
      fails = 0;
      const kernel = tf.getKernel("Exp", "cpu") as { kernelFunc: unknown };
      const original = kernel.kernelFunc as (...args: unknown[]) => unknown;
      kernel.kernelFunc = (...args: unknown[]) => {
        if (fails++ === at) throw new Error("the kernel fails");
        return original(...args);
      };
      try {
        evicting(gradientOf((x) => tf.mul(tf.cos(tf.exp(tf.sin(x))), tf.sin(x)).sum()));
      } finally {
        kernel.kernelFunc = original;
      }
    });
  for (const at of [0, 1]) {
    expect(failing(at)).toThrow("the kernel fails");
    expect(counts()).toEqual(before);
    expect([state.gradientDepth, state.kernelDepth, state.scopeStack.length, state.activeTape]).toEqual([
      0,
      0,
      0,
      null,
    ]);
  }
  sameAsStock(gradientOf((x) => tf.exp(tf.sin(x)).sum()));
});

test("second-order gradients, and gradients within gradient functions", () => {
  sameAsStock(
    gradientOf((x) =>
      tf
        .grad((t) => tf.mul(tf.exp(tf.sin(t)), t).sum())(x)
        .square()
        .sum(),
    ),
  );
  const inside = (x: tf.Tensor) => {
    const f = (t: tf.Tensor) => tf.sin(tf.exp(t));
    const block = tf.customGrad((t) => ({
      value: f(t as tf.Tensor),
      gradFunc: (dy) => tf.grad(f)(t as tf.Tensor, dy),
    }));
    return tf.mul(block(tf.tanh(x)), x).sum();
  };
  const plain = gradientOf((x) => tf.mul(tf.sin(tf.exp(tf.tanh(x))), x).sum())();
  expect(evicting(gradientOf(inside))).toEqual(plain);
});

test("a gradient may be a result of an op, a caller's dy stays", () => {
  const dy = tf.tensor1d([1, 2, 3, 4]);
  sameAsStock(() =>
    tf.tidy(() => {
      const x = tf.tensor1d([0.5, -1.5, 2, 3]);
      const h = tf.exp(x);
      return tf
        .grads((a, b) => tf.mul(tf.sin(tf.add(a, b)), tf.mod(a, b)))([h, x], dy)
        .map((gradient) => [...gradient.dataSync()]);
    }),
  );
  expect([...dy.dataSync()]).toEqual([1, 2, 3, 4]);
  dy.dispose();
});

test("nothing stays patched", () => {
  const engine = tf.engine() as unknown as Record<string, unknown>;
  const before = Object.getOwnPropertyNames(engine);
  const close = openDispatchMode(new Executor(new EvictingPolicy()));
  gradientOf((x) => tf.exp(x).sum())();
  close();
  expect(Object.getOwnPropertyNames(engine)).toEqual(before);
});
