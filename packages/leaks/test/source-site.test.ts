import { describe, expect, it } from "vitest";
import { siteOfStack } from "../src/source-site.js";

/** As Node writes it: what is of TensorFlow.js has a name and no number, what is the user's a name with one. */
const stackOf = (...frames: readonly string[]): string => {
  const placed = frames.map((frame) => {
    const [name, line] = frame.split(":");
    return `    at ${name} (${line === undefined ? "/app/node_modules/tfjs/tf.js:1:1" : `/app/train.js:${line}:1`})`;
  });
  return ["Error", ...placed].join("\n");
};

describe("siteOfStack", () => {
  it.each<[string, readonly string[], string | undefined]>([
    ["a tidy", ["Tensor.mul", "mul__op", "f:5", "Engine.scopedRun", "Engine.tidy", "Object.tidy", "main:4"], "tidy"],
    [
      "a tidy that returns what another function has",
      ["Engine.tidy", "Sequential.predict", "f:5", "Engine.tidy", "main:4"],
      "tidy",
    ],
    [
      "a function that has a tidy of its own",
      ["Engine.tidy", "Engine.scopedRun", "Sequential.predict", "main:4"],
      "predict",
    ],
    [
      "an optimizer",
      ["mean__op", "f:5", "Engine.tidy", "Engine.gradients", "variableGrads", "SGDOptimizer.minimize", "main:4"],
      "minimize",
    ],
    [
      "a function that a callback calls",
      ["Engine.tidy", "Sequential.evaluate", "onEpochEnd:9", "CustomCallback.onEpochEnd", "async fit", "main:4"],
      "evaluate",
    ],
    ["a function whose name a bundler has made short", ["a", "bc", "main:4"], undefined],
  ])("tells by its name what returns a tensor: %s", (_, frames, returnedBy) => {
    expect(siteOfStack(stackOf(...frames)).returnedBy).toBe(returnedBy);
  });

  it.each<[engine: string, stack: string, site: object]>([
    [
      "Chrome",
      "Error\n    at x (http://localhost/node_modules/.vite/deps/tfjs.js:1:2)\n    at step (http://localhost/src/train.js:12:20)",
      { line: "http://localhost/src/train.js:12:20", owner: undefined, returnedBy: undefined },
    ],
    [
      "Node",
      "Error\n    at Dense.addWeight (/app/node_modules/@tensorflow/tfjs/dist/tf.node.js:9:9)\n    at file:///app/src/serve.mjs:3:5",
      { line: "/app/src/serve.mjs:3:5", owner: "model", returnedBy: "addWeight" },
    ],
    [
      "Firefox",
      "applyGradients@http://localhost/node_modules/tfjs/tf.js:1:2\nstep@http://localhost/src/train.js:12:20\n",
      { line: "http://localhost/src/train.js:12:20", owner: "optimizer", returnedBy: "applyGradients" },
    ],
    [
      "Safari, with no line of the user's",
      "add@http://localhost/node_modules/tfjs/tf.js:1:2\n[native code]",
      { line: undefined, owner: undefined, returnedBy: undefined },
    ],
  ])("reads what %s writes", (_, stack, site) => {
    expect(siteOfStack(stack)).toEqual(site);
  });
});
