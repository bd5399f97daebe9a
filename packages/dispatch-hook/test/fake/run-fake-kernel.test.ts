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
    tf.fused.conv2d({ x: tf.ones<tf.Rank.R4>([1, 4, 4, 2]), filter: tf.ones([3, 3, 2, 5]), strides: 1, pad: "same" }),
  "complex numbers": () => tf.real(tf.ifft(tf.fft(tf.complex(tf.ones([2, 8]), tf.zeros([2, 8]))))),
  "a gradient": () =>
    tf.grad((x) => tf.layers.activation({ activation: "gelu" }).apply(tf.mul(x, x)) as tf.Tensor)(matrix()),
  "a gradient of unused outputs": () => tf.grad((x) => tf.unstack(tf.tanh(x))[1])(matrix()),
  "a second gradient": () => tf.grad((x) => tf.sum(tf.grad((y) => tf.mul(tf.tanh(y), y))(x)))(matrix()),
  "a custom gradient": () => tf.grad((x) => tf.mul(square(x), x))(matrix()),
  "a kept tensor": () => tf.grad((x) => tf.mul(tf.keep(tf.neg(x)), x))(matrix()),
  "scopes that return one, several, kept, outer and no tensors": () => {
    const outer = matrix();
    const inner = tf.tidy(() => tf.tidy(() => tf.relu(outer)));
    const { list } = tf.tidy(() => ({ list: [tf.neg(inner), tf.abs(inner)], number: 1 }));
    tf.tidy(() => outer);
    tf.tidy(() => void tf.keep(tf.exp(outer)));
    tf.tidy(() => tf.keep(tf.sqrt(outer)));
    return tf.tidy(() => [tf.addN(list), tf.tidy(() => tf.sum(outer).rank)]);
  },
  "an error in a scope": () => tf.tidy(() => tf.matMul(tf.relu(matrix()), tf.ones([3, 3]))),
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

/** The same with wrappers of other code around the engine's methods, which must see every kernel and scope. */
function observeByEngine(program: () => unknown, backend: "cpu" | "tensorflow" | "wasm"): unknown {
  const engine = engineInternals();
  const { runKernelFunc, endScope } = engine;
  const seen = { kernels: 0, scopes: 0 };
  engine.runKernelFunc = (parameters) => {
    seen.kernels++;
    return runKernelFunc.call(engine, parameters);
  };
  engine.endScope = (result) => {
    seen.scopes++;
    endScope.call(engine, result);
  };
  try {
    return observe(program, backend);
  } finally {
    Reflect.deleteProperty(engine, "endScope");
    Reflect.deleteProperty(engine, "runKernelFunc");
    expect(Math.min(seen.kernels, seen.scopes)).toBeGreaterThan(0);
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

test("kernels of fake mode, and scopes of one tensor, do not take the engine's longer way", () => {
  const prototype = Object.getPrototypeOf(engineInternals()) as ReturnType<typeof engineInternals>;
  const kernels = vi.spyOn(prototype, "runKernelFunc");
  const scopes = vi.spyOn(prototype, "endScope");
  try {
    fakeMode(() => tf.grad((x) => tf.matMul(tf.relu(x as tf.Tensor2D), matrix()))(matrix()));
    expect(kernels).not.toHaveBeenCalled();
    // The scope of the backward pass returns a list.
    expect(scopes).toHaveBeenCalledTimes(1);
  } finally {
    kernels.mockRestore();
    scopes.mockRestore();
  }
});
