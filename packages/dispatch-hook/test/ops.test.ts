import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TraceRecorder } from "../../tracer/src/recorder/trace-recorder.js";
import { type DispatchMode, withDispatchMode } from "../src/index.js";
import { eventLog } from "./event-log.js";

function opsOf(run: () => unknown, more: DispatchMode = {}): string[] {
  const names: string[] = [];
  withDispatchMode({ ...more, opDone: (op) => names.push(op.kernel) }, () => tf.tidy(() => void run()));
  return names;
}

describe.each(["cpu", "wasm"])("facts about an op, on %s", (backend) => {
  beforeEach(async () => {
    await tf.setBackend(backend);
  });

  test("each registered kernel of the user is one", () => {
    const x = tf.tensor1d([1, 2, 3]);
    expect(opsOf(() => tf.relu(x).add(1).sum())).toEqual(["Relu", "Add", "Sum"]);
  });

  test("a kernel that another kernel runs is none", () => {
    tf.registerKernel({
      kernelName: "AddTwice",
      backendName: backend,
      kernelFunc: ({ inputs }) => {
        const { x } = inputs as { x: tf.Tensor };
        const once = tf.add(x, x);
        return tf.add(once, x);
      },
    });
    try {
      const run = () => tf.engine().runKernel("AddTwice", { x: tf.tensor1d([1, 2]) }) as tf.Tensor;
      const { mode, lines } = eventLog();
      withDispatchMode(mode, () => tf.tidy(() => void run()));
      expect(lines).toEqual([
        "+s0 8 data",
        "+s1 8 op",
        "+s2 8 op",
        "forward AddTwice(s0) = s2",
        // The engine tracks what a kernel's ops leave behind in the tidy around it.
        "-s0",
        "-s1",
        "-s2",
      ]);
    } finally {
      tf.unregisterKernel("AddTwice", backend);
    }
  });

  test("a kernel inside a customGrad is one, in that scope, and the engine's clones are none", () => {
    const square = tf.customGrad((x, save) => {
      const { keep } = { keep: save as (tensors: tf.Tensor[]) => void };
      keep([x as tf.Tensor]);
      return { value: tf.mul(x as tf.Tensor, x as tf.Tensor), gradFunc: (dy: tf.Tensor) => tf.mul(dy, 2) };
    });
    const { mode, lines } = eventLog();
    withDispatchMode(mode, () => tf.tidy(() => void tf.grad((t) => square(t).relu().sum())(tf.tensor1d([3, 4]))));
    const seen = lines.filter((line) => /^(forward|\{|\}|save|\+.*save)/.test(line));
    const copies = backend === "wasm";
    expect(seen).toEqual([
      "{ customGrad",
      ...(copies ? ["+s1 8 save", "forward customGrad/Multiply(s0,s0) = s2", "save input s1"] : []),
      ...(copies ? [] : ["forward customGrad/Multiply(s0,s0) = s1", "save input s0"]),
      "} customGrad",
      ...(copies ? ["forward Relu(s2) = s3", "+s4 8 save", "save input s4"] : []),
      ...(copies ? [] : ["forward Relu(s1) = s2", "save input s1"]),
      ...(copies ? ["forward Sum(s3) = s5", "+s6 8 save", "save input s6"] : []),
      ...(copies ? [] : ["forward Sum(s2) = s3", "save input s2"]),
    ]);
  });

  test("a clone that the user asks for is one", () => {
    const x = tf.tensor1d([1]);
    expect(opsOf(() => x.clone())).toEqual(["Identity"]);
  });
});

test("values that JavaScript reads are told before they are read", async () => {
  await tf.setBackend("cpu");
  const x = tf.tensor1d([1]);
  const read: object[] = [];
  await withDispatchMode({ tensorRead: (dataId) => read.push(dataId) }, async () => {
    x.dataSync();
    await x.data();
  });
  x.dataSync();
  expect(read).toEqual([x.dataId, x.dataId]);
});

describe("dispatch", () => {
  beforeEach(async () => {
    await tf.setBackend("cpu");
  });
  afterEach(() => tf.disposeVariables());
  const x = () => tf.tensor1d([1, -2]);

  test("passes, changes and answers an op; the innermost mode comes first", () => {
    const order: string[] = [];
    const outer: DispatchMode = {
      dispatch(call, next) {
        order.push(`outer ${call.kernel}`);
        return next();
      },
    };
    const doubles: DispatchMode = {
      dispatch(call, next) {
        order.push(`inner ${call.kernel}`);
        if (call.kernel !== "Relu") return next();
        return next({ x: tf.mul(call.inputTensors[0], 2) });
      },
    };
    const values = withDispatchMode(outer, () => withDispatchMode(doubles, () => tf.neg(tf.relu(x())).dataSync()));
    expect([...values]).toEqual([-2, -0]);
    expect(order).toEqual(["inner Relu", "outer Relu", "inner Neg", "outer Neg"]);

    const answers: DispatchMode = {
      dispatch: (call, next) => (call.kernel === "Exp" ? tf.tensor1d([7, 7]) : next()),
    };
    const ran: string[] = [];
    const answer = withDispatchMode({ dispatch: (call, next) => (ran.push(call.kernel), next()) }, () =>
      withDispatchMode(answers, () => tf.exp(x()).dataSync()),
    );
    expect([...answer]).toEqual([7, 7]);
    expect(ran).toEqual([]);
  });

  test("changes attributes", () => {
    const mode: DispatchMode = {
      dispatch: (call, next) => (call.kernel === "Sum" ? next(undefined, { ...call.attributes, axis: [0] }) : next()),
    };
    const y = withDispatchMode(mode, () =>
      tf.engine().runKernel("Sum", { x: tf.ones([2, 3]) }, { axis: [1] } as never),
    );
    expect((y as tf.Tensor).shape).toEqual([3]);
  });

  test("leaves the tape as it was: the gradient is that of the op called", () => {
    const mode: DispatchMode = {
      dispatch: (call, next) => (call.kernel === "Square" ? next({ x: tf.mul(call.inputTensors[0], 10) }) : next()),
    };
    const g = withDispatchMode(mode, () => tf.valueAndGrad((t) => tf.square(t).sum())(x()));
    expect([...g.value.dataSync()]).toEqual([500]);
    expect([...g.grad.dataSync()]).toEqual([2, -4]);
  });

  test("an error in a kernel reaches the caller, and every mode", () => {
    const { mode, lines } = eventLog();
    const broken: DispatchMode = {
      dispatch: () => {
        tf.tensor1d([1]).dispose();
        throw new Error("no such luck");
      },
    };
    withDispatchMode(mode, () => {
      withDispatchMode(broken, () => expect(() => tf.tidy(() => tf.relu(x()))).toThrow("no such luck"));
      tf.tidy(() => void tf.relu(x()));
    });
    expect(lines).toEqual([
      "+s0 8 data",
      "+s1 4 op",
      "-s1",
      "failed Relu",
      "-s0",
      "+s2 8 data",
      "+s3 8 op",
      "forward Relu(s2) = s3",
      "-s2",
      "-s3",
    ]);
  });
});

// Only cpu has kernels that take one.
test("a list among a kernel's inputs is seen tensor by tensor", async () => {
  await tf.setBackend("cpu");
  const recorder = new TraceRecorder();
  const splits = tf.tensor1d([0, 1, 3], "int32");
  const values = tf.tensor1d([1, 2, 3]);
  const seen: number[][] = [];
  withDispatchMode({ opDone: ({ inputTensors }) => seen.push(inputTensors.map(({ id }) => id)) }, () =>
    withDispatchMode(recorder, () => {
      const indices = tf.tensor1d([1, 0], "int32");
      tf.raggedGather([splits], values, indices, 1);
      expect(seen).toEqual([[splits.id, values.id, indices.id]]);
    }),
  );
  const trace = recorder.trace();
  expect(trace.ops.count).toBe(1);
  expect([...trace.opInputs(0)]).toHaveLength(3);
});
