import { withDispatchMode } from "@remat/dispatch-hook";
import { dailyRuns } from "@remat/testkit";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { programs, runProgram } from "../../dispatch-hook/test/programs.js";
import { MemoryMeter, releaseEarly } from "../src/index.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

function early<T>(run: () => T): T {
  const stop = releaseEarly();
  try {
    return run();
  } finally {
    stop();
  }
}

function peakOf(run: () => unknown): number {
  const meter = new MemoryMeter();
  withDispatchMode(meter, () => tf.tidy(() => void run()));
  return meter.peakBytes;
}

test("values, gradients, weights and memory counts of any program are stock's, to the bit", () => {
  fc.assert(
    fc.property(programs, (program) => {
      expect(runProgram(program, (step) => early(step))).toEqual(runProgram(program));
    }),
    { numRuns: dailyRuns(150) },
  );
});

test("nothing is held after its last use", () => {
  const x = tf.ones([256]);
  const chain = () => {
    const f = (t: tf.Tensor) => {
      let h = t;
      for (let i = 0; i < 10; i++) h = tf.sin(h);
      return h.sum();
    };
    return tf.grad(f)(x);
  };
  // x and the nine results that are saved; then a gradient, its factor and their product; the loss.
  const stock = peakOf(chain);
  expect(peakOf(() => early(chain))).toBe((1 + 9 + 3) * 1024 + 4);
  expect(stock).toBeGreaterThan((1 + 10 + 11) * 1024);
  x.dispose();
});

describe("tensors that no gradient function reads are not kept", () => {
  const x = tf.ones([256]);
  const tenTimes = (step: (t: tf.Tensor) => tf.Tensor) => () =>
    tf.grad((t) => {
      let h = t;
      for (let i = 0; i < 10; i++) h = step(h);
      return h.sum();
    })(x);
  const peaks = (run: () => tf.Tensor) => [early(() => peakOf(run)), peakOf(run)];

  test("a tensor saved for its shape", () => {
    const [peak, stock] = peaks(tenTimes((t) => tf.tidy(() => tf.add(tf.neg(t), t))));
    // x, ten results, and what the last is made of.
    expect(peak).toBe((1 + 10 + 1) * 1024);
    expect(stock).toBeGreaterThan((1 + 10 + 10) * 1024);
  });

  test("a tensor saved for the gradient of a constant", () => {
    const [peak, stock] = peaks(tenTimes((t) => tf.tidy(() => tf.mul(tf.neg(t), 2))));
    expect(peak).toBe((1 + 10 + 1) * 1024 + 10 * 4);
    expect(stock).toBeGreaterThan((1 + 10 + 10) * 1024);
  });

  test("a tensor saved on a path that reaches no x", () => {
    const [peak, stock] = peaks(tenTimes((t) => tf.dropout(t, 0.5)));
    // x, ten results and masks, and what the last mask is made of: random numbers, a sum, and that rounded; what divides it goes with them.
    expect(peak).toBe((1 + 20 + 3) * 1024 + 4);
    expect(stock).toBeGreaterThan((1 + 20 + 20) * 1024);
  });

  test("but counts in the forward pass as in stock, as a tensor", () => {
    const count = () => {
      const counts: unknown[] = [];
      tenTimes((t) => {
        const next = tf.mul(tf.add(t, 1), tf.scalar(2));
        const { numTensors, numBytes } = tf.memory();
        counts.push([numTensors, numBytes]);
        return next;
      })().dispose();
      return counts;
    };
    expect(early(count)).toEqual(count());
  });
});

describe("an inner gradient that asks for more than the outer one", () => {
  const x = tf.tensor1d([0.5, 1.5]);
  const c = tf.tensor1d([2, 3]);
  /** The gradient by x of u(x, c) and of the gradient of that by c. */
  const nested = (u: (t: tf.Tensor, c: tf.Tensor) => tf.Tensor, inner: tf.Tensor = c) => {
    const gradient = tf.grad((t) => {
      const made = u(t, inner);
      return tf.add(made, tf.grad(() => made)(inner)).sum();
    });
    return () => tf.tidy(() => [...gradient(x).dataSync()]);
  };

  test("gets what stock gives", () => {
    const row = (t: tf.Tensor) => t.reshape([1, 2]);
    const us: ((t: tf.Tensor, c: tf.Tensor) => tf.Tensor)[] = [
      (t, c) => tf.mul(t, tf.exp(c)),
      (t, c) => tf.div(tf.mul(c, c), t),
      (t, c) => tf.add(tf.mul(t, tf.sub(1, c)), tf.neg(tf.square(c))),
      (t, c) => tf.matMul(row(t), tf.matMul(row(c), row(c), true)).reshape([2]),
    ];
    const variable = tf.variable(c);
    for (const program of us.flatMap((u) => [nested(u), nested(u, variable)])) {
      const before = tf.memory();
      const gradients = early(program);
      expect(tf.memory()).toEqual(before);
      expect(gradients).toEqual(program());
    }
    variable.dispose();
  });

  test("gets it, too, where what it reads was disposed of, or a variable has other data", () => {
    const before = tf.memory();
    // Only the tidy referenced the input of the sine.
    const tidied = nested((t, c) =>
      tf.mul(
        t,
        tf.tidy(() => tf.sin(tf.exp(c))),
      ),
    );
    const variable = tf.variable(c);
    const assigned = nested((t, v) => {
      const square = tf.square(v);
      tf.tidy(() => (v as tf.Variable).assign(tf.tensor1d([7, 7])));
      return tf.mul(t, square);
    }, variable);
    for (const program of [tidied, assigned]) {
      const gradients = early(program);
      tf.tidy(() => variable.assign(c.clone()));
      expect(gradients).toEqual(program());
      tf.tidy(() => variable.assign(c.clone()));
    }
    variable.dispose();
    expect(tf.memory()).toEqual(before);
  });
});

describe("ownership in gradient functions", () => {
  const x = () => tf.tensor1d([1, 2, 3]);
  const custom = (gradFunc: (dy: tf.Tensor, saved: tf.Tensor[]) => tf.Tensor | tf.Tensor[]) =>
    tf.customGrad((...args: unknown[]) => {
      const save = args.at(-1) as (tensors: tf.Tensor[]) => void;
      const inputs = args.slice(0, -1) as tf.Tensor[];
      save(inputs);
      return { value: inputs.reduce((sum, input) => tf.add(sum, input), tf.scalar(0)), gradFunc: gradFunc as never };
    });
  const bothWays = (run: () => tf.Tensor | tf.Tensor[]) => {
    const valuesOf = () => {
      const before = tf.memory().numTensors;
      const values = tf.tidy(() => [run()].flat().map((tensor) => [...tensor.dataSync()]));
      expect(tf.memory().numTensors).toBe(before);
      return values;
    };
    expect(early(valuesOf)).toEqual(valuesOf());
  };

  test("dy itself is the gradient of several inputs", () => {
    const f = custom((dy) => [dy, dy]);
    bothWays(() => tf.grads((a, b) => tf.mul(f(tf.sin(a), tf.cos(b)), a))([x(), x()]));
    bothWays(() => tf.grad((a) => f(tf.sin(a), tf.sin(a)))(x()));
  });

  test("Mod returns dy: it must outlive the node, and a sum with it", () => {
    bothWays(() => tf.grads((a, b) => tf.add(tf.mod(tf.exp(a), b), tf.exp(a)))([x(), tf.tensor1d([2, 2, 2])]));
    const dy = tf.tensor1d([1, 2, 3]);
    bothWays(() => tf.grads((a, b) => tf.mod(a, b))([x(), x()], dy));
    expect(dy.isDisposed).toBe(false);
    dy.dispose();
  });

  test("a saved tensor is a gradient on the way", () => {
    const f = custom((_, saved) => saved[0]);
    bothWays(() => tf.grad((a) => f(tf.sin(tf.exp(a))))(x()));
    bothWays(() =>
      tf.grad((a) => {
        const h = tf.exp(a);
        return tf.add(f(h), tf.sin(h));
      })(x()),
    );
  });

  test("a saved tensor is the result, which stock hands out disposed of", () => {
    const f = custom((_, saved) => saved[0]);
    const before = tf.memory().numTensors;
    const given = x();
    const gradient = early(() => tf.grad((a) => f(a))(given));
    expect([...gradient.dataSync()]).toEqual([1, 2, 3]);
    tf.dispose([gradient, given]);
    expect(tf.memory().numTensors).toBe(before);
  });

  test("a constant of the user's is a gradient, and stays", () => {
    const constant = tf.tensor1d([4, 5, 6]);
    const f = custom(() => constant);
    bothWays(() => tf.grad((a) => tf.add(f(tf.exp(a)), f(tf.sin(a))))(x()));
    expect(constant.isDisposed).toBe(false);
    constant.dispose();
  });

  test("a gradient that its function keeps stays", () => {
    let kept: tf.Tensor | undefined;
    const f = custom((dy) => (kept = tf.keep(tf.mul(dy, 2))));
    const gradient = early(() => tf.grad((a) => f(tf.exp(a)))(x()));
    expect([...(kept as tf.Tensor).dataSync()]).toEqual([2, 2, 2]);
    tf.dispose([gradient, kept as tf.Tensor]);
  });

  test("tensors made before the function returns are available to all its thunks", () => {
    bothWays(() => {
      const t = tf.tensor1d([3, 4, 5]);
      const f = custom((dy) => {
        const twice = tf.mul(dy, 2);
        return [twice, tf.add(twice, t)];
      });
      return tf.grads((a, b) => tf.add(f(a, b), tf.mul(a, b)))([x(), x()]);
    });
  });

  test("a caller's dy is read and left", () => {
    const dy = tf.tensor1d([1, 2, 3]);
    bothWays(() => tf.grad((a) => tf.add(tf.exp(a), tf.sin(a)))(x(), dy));
    bothWays(() => tf.grad((a) => tf.reshape(a, [3]))(x(), dy));
    expect([...dy.dataSync()]).toEqual([1, 2, 3]);
    dy.dispose();
  });
});

test("gradients with respect to results of ops are kept", () => {
  const run = () =>
    tf.tidy(() => {
      const w = tf.tensor1d([1, 2]);
      const h = tf.exp(w);
      const forward = (): tf.Tensor => tf.mul(tf.sin(h), tf.square(h)).sum();
      const tape = tf.grads((a: tf.Tensor, b: tf.Tensor) => {
        const middle = tf.mul(a, b);
        return tf.mul(middle, tf.sin(middle)).sum();
      });
      const inner: tf.Tensor[] = [];
      // xs that appear in the middle of the tape, with nodes before and after.
      const { grads } = tf.engine().gradients(() => {
        const middle = tf.sin(h);
        inner.push(middle);
        return tf.mul(tf.square(middle), h).sum();
      }, [h]);
      expect(forward().dtype).toBe("float32");
      return [...tape([w, h]), ...grads].map((gradient) => [...gradient.dataSync()]);
    });
  expect(early(run)).toEqual(run());

  const inTheMiddle = () =>
    tf.tidy(() => {
      const xs: tf.Tensor[] = [];
      const start = tf.tensor1d([0.5, 1.5]);
      xs.push(start);
      const { grads } = tf.engine().gradients(() => {
        const h = tf.exp(start);
        xs.push(h);
        return tf.mul(tf.sin(h), h).sum();
      }, xs);
      return grads.map((gradient) => [...gradient.dataSync()]);
    });
  expect(inTheMiddle().length).toBe(2);
  expect(early(inTheMiddle)).toEqual(inTheMiddle());
});

test("higher orders are those of stock, and a gradient function may compute gradients, which stock cannot", () => {
  const x = tf.tensor1d([0.5, -1.5]);
  const second = () =>
    tf.tidy(() => [
      ...tf
        .grad((v) => tf.grad((t) => tf.mul(tf.exp(t), tf.square(t)))(v))(x)
        .dataSync(),
    ]);
  const third = () =>
    tf.tidy(() => [
      ...tf
        .grad((u) => tf.grad((v) => tf.grad((t) => tf.mul(tf.square(t), tf.square(t)))(v))(u))(x)
        .dataSync(),
    ]);
  expect(early(second)).toEqual(second());
  expect(early(third)).toEqual(third());
  const recomputing = () =>
    tf.tidy(() => {
      const f = (t: tf.Tensor) => tf.sin(tf.exp(t));
      const block = tf.customGrad((t) => ({
        value: f(t as tf.Tensor),
        gradFunc: (dy) => tf.grad(f)(t as tf.Tensor, dy),
      }));
      return [
        ...tf
          .grad((t) => tf.square(block(tf.tanh(t))))(x)
          .dataSync(),
      ];
    });
  const plain = tf.tidy(() => [
    ...tf
      .grad((t) => tf.square(tf.sin(tf.exp(tf.tanh(t)))))(x)
      .dataSync(),
  ]);
  expect(early(recomputing)).toEqual(plain);
  x.dispose();
});

test("an exception in the middle leaves nothing behind", () => {
  const before = tf.memory();
  const x = tf.tensor1d([1, 2]);
  const failing = (gradFunc: () => never) =>
    tf.customGrad((t, save) => {
      (save as (tensors: tf.Tensor[]) => void)([t as tf.Tensor]);
      return { value: tf.exp(t as tf.Tensor), gradFunc };
    });
  const inBackward = () =>
    tf.grad((t) =>
      failing(() => {
        throw new Error("stop");
      })(tf.sin(tf.exp(t))),
    )(x);
  const inForward = () =>
    tf.grad((t) => {
      tf.sin(tf.exp(t));
      throw new Error("stop");
    })(x);
  for (const run of [inBackward, inForward]) expect(() => early(run)).toThrow("stop");
  expect(tf.engine().state.activeTape).toBe(null);
  expect(tf.engine().state.gradientDepth).toBe(0);
  expect(tf.engine().state.scopeStack).toEqual([]);
  x.dispose();
  const after = tf.memory();
  expect([after.numTensors, after.numBytes, after.numDataBuffers]).toEqual([
    before.numTensors,
    before.numBytes,
    before.numDataBuffers,
  ]);
});

test("stock's errors remain", () => {
  const x = tf.tensor1d([1, 2]);
  const errors = [
    () => tf.grad((t) => tf.tensor1d([1]).add(t.size))(x),
    () => tf.grad(() => tf.scalar(1))(x),
    () => tf.grad((() => 3) as never)(x),
    () => tf.engine().gradients(() => tf.scalar(1), []),
    () => tf.engine().gradients(() => tf.relu(x), [x], tf.tensor1d([1, 2], "int32")),
    () => tf.grad((t) => tf.topk(t).values)(x),
    () => tf.grad((t) => tf.customGrad((y) => ({ value: tf.relu(y as tf.Tensor), gradFunc: () => [] }))(t))(x),
    () =>
      tf.grad((t) => tf.customGrad((y) => ({ value: tf.relu(y as tf.Tensor), gradFunc: () => tf.scalar(1) }))(t))(x),
    () =>
      tf.grad((t) =>
        tf.customGrad((y) => ({ value: tf.relu(y as tf.Tensor), gradFunc: (dy) => tf.cast(dy, "int32") }))(t),
      )(x),
  ];
  const messageOf = (run: () => unknown) => {
    try {
      tf.tidy(() => void run());
      return "no error";
    } catch (error) {
      return String(error);
    }
  };
  const stock = errors.map(messageOf);
  expect(stock).not.toContain("no error");
  expect(early(() => errors.map(messageOf))).toEqual(stock);
});
