import { Phase, phaseNames } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import { beforeEach, describe, expect, test } from "vitest";
import { watchOptimizer, withDispatchMode } from "../src/index.js";
import { eventLog, nameOf } from "./event-log.js";

beforeEach(async () => {
  await tf.setBackend("cpu");
  tf.disposeVariables();
});

const logOf = (run: () => unknown): string[] => {
  const { mode, lines } = eventLog();
  withDispatchMode(mode, () => tf.tidy(() => void run()));
  return lines;
};

test("the whole log of a backward pass in which a gradient is accumulated", () => {
  const lines = logOf(() => {
    const x = tf.tensor1d([1, -2]);
    return tf.grad((t) => {
      const h = tf.exp(t);
      return tf.add(tf.relu(h), h);
    })(x);
  });
  expect(lines).toEqual([
    "+s0 8 data",
    "+s1 8 op",
    "forward Exp(s0) = s1",
    "save output s1",
    "+s2 8 op",
    "forward Relu(s1) = s2",
    "save input s1",
    "+s3 8 op",
    "forward Add(s2,s1) = s3",
    "save input s2, input s1",
    "phase backward",
    // ones like y
    "+s4 8 data",
    "node Add dy s4",
    "backward Reshape(s4) = s4 of Add",
    "backward Reshape(s4) = s4 of Add",
    "done Add da s4 db s4",
    "node Relu dy s4",
    "+s5 8 op",
    "backward Step(s1) = s5 of Relu",
    "backward Cast(s5) = s5 of Relu",
    "+s6 8 op",
    "backward Multiply(s4,s5) = s6 of Relu",
    "-s5",
    // The Add belongs to Exp, which made h; Relu brought the second contribution.
    "+s7 8 op",
    "backward Add(s4,s6) = s7 adds Relu for Exp",
    "done Relu dx s6",
    "node Exp dy s7",
    "+s8 8 op",
    "backward Multiply(s7,s1) = s8 of Exp",
    "done Exp dx s8",
    // Saved tensors go first, then what the tidies held.
    "-s2",
    "-s1",
    "gradients s8",
    "-s4",
    "-s6",
    "-s7",
    "phase forward",
    "-s3",
    "-s0",
    "-s8",
  ]);
});

test("a weight used twice has no producer: its Add names only the node that contributes", () => {
  const w = tf.variable(tf.tensor1d([2]), true, "w");
  const lines = logOf(() => tf.variableGrads(() => tf.mul(tf.mul(w, 3), w).sum().asScalar(), [w]));
  expect(lines.filter((line) => line.includes("adds"))).toEqual([
    expect.stringMatching(/^backward Add\(.*\) = s\d+ adds Multiply for nothing$/),
  ]);
});

test("ops of a customGrad's gradient belong to the customGrad", () => {
  const lines = logOf(() => {
    const y = tf.tensor2d([[0, 1]]);
    return tf.grad((x) => tf.losses.softmaxCrossEntropy(y, x))(tf.tensor2d([[1, 2]]));
  });
  const scopes = lines.filter((line) => line.startsWith("{") || line.startsWith("}"));
  expect(scopes).toEqual(["{ softmaxCrossEntropy", "} softmaxCrossEntropy"]);
  const backward = lines.filter((line) => /^backward/.test(line) && / of softmaxCrossEntropy$/.test(line));
  expect(backward.map((line) => line.slice("backward ".length, line.indexOf("(")))).toEqual([
    ...["Reshape", "Cast", "Exp", "Sub", "Multiply"],
    ...["Reshape", "Exp", "Cast", "Sub", "Multiply"],
  ]);
});

test("a fused op is a scope of its own name around its kernel", () => {
  const lines = logOf(() => {
    const [a, b, bias] = [tf.ones([2, 3]), tf.ones([3, 4]), tf.ones([4])] as [tf.Tensor2D, tf.Tensor2D, tf.Tensor1D];
    return tf.grad((x) => tf.fused.matMul({ a: x as tf.Tensor2D, b, bias, activation: "linear" }).sum())(a);
  });
  expect(lines.filter((line) => /^[{}]|fusedMatMul\//.test(line))).toEqual([
    "{ fusedMatMul",
    expect.stringMatching(/^forward fusedMatMul\/_FusedMatMul/),
    expect.stringMatching(/^forward fusedMatMul\/Reshape/),
    "} fusedMatMul",
  ]);
  // The whole gradient of a fused op is its scope's.
  expect(lines.filter((line) => line.endsWith(" of fusedMatMul")).length).toBeGreaterThan(3);
});

describe("phases", () => {
  const phasesOf = (run: () => unknown): [phase: string, kernel: string][] => {
    const seen: [string, string][] = [];
    withDispatchMode({ opDone: (op) => seen.push([phaseNames[op.phase], op.kernel]) }, () => tf.tidy(() => void run()));
    return seen;
  };
  const runsOf = (pairs: [string, string][]) =>
    pairs.map(([phase]) => phase).filter((phase, i, phases) => phase !== phases[i - 1]);

  test("a gradient of a gradient goes forward, backward, and backward once more", () => {
    const x = tf.tensor1d([2]);
    const second = tf.grad((t) => tf.grad((u) => tf.mul(u, tf.square(u)))(t));
    expect(runsOf(phasesOf(() => second(x)))).toEqual(["forward", "backward"]);
    const nodes: string[] = [];
    withDispatchMode({ opDone: (op) => op.phase === Phase.backward && nodes.push(nameOf(op.differentiates)) }, () =>
      tf.tidy(() => void second(x)),
    );
    expect(nodes).toContain("Square");
    // The outer pass differentiates what the inner one did, and on its way the engine's clones of saved tensors.
    expect(nodes).toContain("clone for Multiply");
    expect(nodes).toContain("Cast");
  });

  test("ops of a forward pass after a nested gradient are forward ops", () => {
    const x = tf.tensor1d([2]);
    const pairs = phasesOf(() => {
      const penalty = tf.grad((u) => tf.square(u))(x);
      return tf.relu(penalty);
    });
    expect(pairs.at(-1)).toEqual(["forward", "Relu"]);
  });

  test.each([
    ["sgd", () => tf.train.sgd(0.1)],
    ["momentum", () => tf.train.momentum(0.1, 0.9)],
    ["adam", () => tf.train.adam(0.1)],
    ["adamax", () => tf.train.adamax(0.1)],
    ["rmsprop", () => tf.train.rmsprop(0.1)],
    ["adagrad", () => tf.train.adagrad(0.1)],
    ["adadelta", () => tf.train.adadelta(0.1)],
  ])("%s updates in the optimizer phase", (_, make) => {
    const w = tf.variable(tf.tensor1d([2]));
    const loss = () => tf.square(w).sum().asScalar();
    const { mode, lines } = eventLog();
    const pairs = phasesOf(() => withDispatchMode(mode, () => make().minimize(loss)));
    expect(runsOf(pairs)).toEqual(["forward", "backward", "optimizer"]);
    expect(lines.filter((line) => line === "step")).toHaveLength(1);
    expect(lines.at(-1)).toBe("phase forward");
    // Applied by hand, after ops of the user's own.
    const byHand = phasesOf(() => {
      const { grads } = tf.variableGrads(loss);
      const clipped = Object.fromEntries(Object.entries(grads).map(([name, g]) => [name, tf.clipByValue(g, -1, 1)]));
      make().applyGradients(clipped as tf.NamedTensorMap as never);
    });
    expect(runsOf(byHand)).toEqual(["forward", "backward", "forward", "optimizer"]);
  });

  class HalfWay extends tf.Optimizer {
    static get className() {
      return "HalfWay";
    }
    applyGradients(gradients: tf.NamedTensorMap) {
      for (const [name, g] of Object.entries(gradients)) {
        const variable = tf.engine().registeredVariables[name];
        variable.assign(tf.sub(variable, tf.mul(g, 0.5)));
      }
    }
    getConfig() {
      return {};
    }
  }

  test("an optimizer that tfjs has never heard of", () => {
    const w = tf.variable(tf.tensor1d([2]));
    const pairs = phasesOf(() => new HalfWay().minimize(() => tf.square(w).sum().asScalar()));
    expect(runsOf(pairs)).toEqual(["forward", "backward", "optimizer"]);
    expect(pairs.slice(-2)).toEqual([
      ["optimizer", "Multiply"],
      ["optimizer", "Sub"],
    ]);
  });

  test("an optimizer with a minimize of its own, once it has been pointed out", () => {
    class Inline extends HalfWay {
      override minimize(f: () => tf.Scalar) {
        const { value, grads } = tf.variableGrads(f);
        this.applyGradients(grads);
        tf.neg(value);
        return null;
      }
    }
    const w = tf.variable(tf.tensor1d([2]));
    const optimizer = new Inline();
    const pairs = phasesOf(() => {
      watchOptimizer(optimizer);
      optimizer.minimize(() => tf.square(w).sum().asScalar());
    });
    expect(runsOf(pairs)).toEqual(["forward", "backward", "optimizer"]);
    expect(pairs.at(-1)).toEqual(["optimizer", "Neg"]);
  });

  test("a gradient inside the loss that an optimizer minimizes leaves the rest of the loss forward", () => {
    const w = tf.variable(tf.tensor1d([2]));
    const loss = () => {
      const penalty = tf.grad((t) => tf.square(t))(w);
      return tf.add(tf.square(w), tf.abs(penalty)).sum().asScalar();
    };
    const pairs = phasesOf(() => tf.train.sgd(0.1).minimize(loss));
    expect(runsOf(pairs)).toEqual(["forward", "backward", "forward", "backward", "optimizer"]);
    expect(pairs.find(([, kernel]) => kernel === "Abs")).toEqual(["forward", "Abs"]);
  });

  test("an exception leaves the phase where it was", () => {
    const w = tf.variable(tf.tensor1d([2]));
    const pairs = phasesOf(() => {
      const bad = () => {
        tf.square(w);
        throw new Error("in the loss");
      };
      expect(() => tf.train.sgd(0.1).minimize(bad)).toThrow("in the loss");
      tf.relu(w);
    });
    expect(pairs).toEqual([
      ["forward", "Square"],
      ["forward", "Relu"],
    ]);
  });
});
