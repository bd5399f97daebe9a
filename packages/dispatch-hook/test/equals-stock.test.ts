import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { TraceRecorder } from "../../tracer/src/recorder/trace-recorder.js";
import { withDispatchMode } from "../src/index.js";
import { eventLog } from "./event-log.js";
import { programs, runProgram } from "./programs.js";

describe.each(["cpu", "wasm"])("under modes that let everything pass, on %s", (backend) => {
  beforeAll(async () => {
    await tf.setBackend(backend);
  });

  test("values, losses, gradients, weights and memory counts are stock's, to the bit", () => {
    fc.assert(
      fc.property(programs, (program) => {
        const stock = runProgram(program);
        const passed = runProgram(program, (step) =>
          withDispatchMode({ dispatch: (_, next) => next(), gradients: (_, next) => next() }, () =>
            withDispatchMode(eventLog().mode, () => withDispatchMode(new TraceRecorder(), step)),
          ),
        );
        expect(passed).toEqual(stock);
        expect(runProgram(program)).toEqual(stock);
      }),
      { numRuns: 40 },
    );
  });
});

test("stock's errors remain", async () => {
  await tf.setBackend("cpu");
  const x = tf.tensor1d([1, 2]);
  const errors = [
    () => tf.grad((t) => tf.tensor1d([1]).add(t.size))(x),
    () => tf.grad(() => tf.scalar(1))(x),
    () => tf.grads((a, b) => tf.relu(a).add(b.size))([x, tf.neg(x)]),
    () => tf.valueAndGrad((t) => tf.relu(t))(x, tf.tensor1d([1, 2], "int32")),
    () => tf.grad((t) => tf.topk(t).values)(x),
    () => tf.grad((t) => tf.customGrad((y) => ({ value: tf.relu(y as tf.Tensor), gradFunc: () => [] }))(t))(x),
    () => tf.engine().runKernel("NoSuchKernel", { x }),
    // A gradient inside a gradient function loses the tape around it.
    () =>
      tf.grad((t) =>
        tf.customGrad((y) => ({
          value: tf.relu(y as tf.Tensor),
          gradFunc: (dy) => tf.mul(dy, tf.grad((z) => tf.exp(z))(y as tf.Tensor)),
        }))(t),
      )(x),
    () => tf.matMul(tf.ones([2, 3]), tf.ones([2, 3])),
    () => tf.variableGrads(() => tf.relu(x).asScalar(), []),
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
  expect(stock.map((message) => message === "no error")).toEqual(errors.map(() => false));
  expect(withDispatchMode({ dispatch: (_, next) => next() }, () => errors.map(messageOf))).toEqual(stock);
});
