import * as tf from "@tensorflow/tfjs";
import { describe, expect, test, vi } from "vitest";
import { engineInternals } from "../../src/engine/index.js";
import { fakeMode } from "../../src/fake/index.js";
import { withDispatchMode } from "../../src/index.js";
import { eventLog } from "../event-log.js";

const square = tf.customGrad((x, save) => {
  (save as (tensors: tf.Tensor[]) => void)([x as tf.Tensor]);
  const gradFunc = (dy: tf.Tensor, saved: tf.Tensor[]) => tf.mul(dy, tf.mul(saved[0], 2));
  return { value: tf.square(x as tf.Tensor), gradFunc };
});

const matrix = (): tf.Tensor2D => tf.ones([4, 4]);

const programs: Readonly<Record<string, () => unknown>> = {
  "ops without gradients": () => tf.softmax(tf.matMul(matrix(), matrix())),
  "kernels with several outputs": () => tf.stack(tf.unstack(matrix(), 0).reverse()),
  "kernels with lists of inputs": () => tf.concat([matrix(), tf.addN([matrix(), matrix()])]),
  "composed kernels": () =>
    tf.fused.conv2d({ x: tf.ones<tf.Rank.R4>([1, 4, 4, 2]), filter: tf.ones<tf.Rank.R4>([3, 3, 2, 5]), strides: 1, pad: "same" }),
  "complex numbers": () => tf.real(tf.ifft(tf.fft(tf.complex(tf.ones([2, 8]), tf.zeros([2, 8]))))),
  "a gradient": () =>
    tf.grad((x) => tf.layers.activation({ activation: "gelu" }).apply(tf.mul(x, x)) as tf.Tensor)(matrix()),
  "a gradient of unused outputs": () => tf.grad((x) => tf.unstack(tf.tanh(x))[1])(matrix()),
  "a second gradient": () => tf.grad((x) => tf.sum(tf.grad((y) => tf.mul(tf.tanh(y), y))(x)))(matrix()),
  "a custom gradient": () => tf.grad((x) => tf.mul(square(x), x))(matrix()),
  "a kept tensor": () => tf.grad((x) => tf.mul(tf.keep(tf.neg(x)), x))(matrix()),
  "an update": () => {
    const weight = tf.variable(matrix());
    return tf.train.adam(0.1).minimize(() => tf.sum(tf.relu(tf.matMul(weight, matrix()))) as tf.Scalar, true, [weight]);
  },
  "an error in a kernel": () => tf.engine().runKernel("Reshape", { x: matrix() }, { shape: [3] }),
  "an unknown kernel": () => tf.engine().runKernel("NoSuchKernel", { x: tf.relu(matrix()) }),
};

/** Every event of a program, its error, and the state that it leaves in the engine. */
function observe(program: () => unknown, backend: "cpu" | "tensorflow" | "wasm"): unknown {
  return fakeMode(
    () => {
      const { mode, lines } = eventLog();
      let error: string | undefined;
      try {
        withDispatchMode(mode, () => tf.tidy(program as () => tf.TensorContainer));
      } catch (thrown) {
        error = String(thrown);
      }
      const { state } = engineInternals();
      const { kernelDepth, gradientDepth, activeTape } = state;
      // TensorFlow.js names variables by a number that it counts up.
      const events = lines.map((line) => line.replace(/(?<=^(make|assign) )\d+/, "variable"));
      return { events, memory: tf.memory(), kernelDepth, gradientDepth, activeTape, error };
    },
    { backend },
  );
}

/** The same with a wrapper of other code around the engine's method, which must see every kernel. */
function observeByEngine(program: () => unknown, backend: "cpu" | "tensorflow" | "wasm"): unknown {
  const engine = engineInternals();
  const { runKernelFunc } = engine;
  let kernels = 0;
  engine.runKernelFunc = (parameters) => {
    kernels++;
    return runKernelFunc.call(engine, parameters);
  };
  try {
    return observe(program, backend);
  } finally {
    Reflect.deleteProperty(engine, "runKernelFunc");
    expect(kernels).toBeGreaterThan(0);
  }
}

describe.each(["cpu", "tensorflow", "wasm"] as const)("on fake %s, a kernel runs as in the engine", (backend) => {
  test.each(Object.entries(programs))("%s", (_, program) => {
    expect(observe(program, backend)).toEqual(observeByEngine(program, backend));
  });
});

test("a profile lists the kernels of fake mode", async () => {
  const { kernels } = await fakeMode(() => tf.profile(() => tf.relu(tf.matMul(matrix(), matrix()))));
  expect(kernels.map(({ name }) => name)).toEqual(["BatchMatMul", "Relu"]);
});

test("kernels of fake mode do not take the engine's longer way", () => {
  const engine = engineInternals();
  const prototype = Object.getPrototypeOf(engine) as typeof engine;
  const taken = vi.spyOn(prototype, "runKernelFunc");
  try {
    fakeMode(() => tf.grad((x) => tf.matMul(tf.relu(x as tf.Tensor2D), matrix()))(matrix()));
    expect(taken).not.toHaveBeenCalled();
  } finally {
    taken.mockRestore();
  }
});
