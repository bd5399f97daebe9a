import { describe, expect, it } from "vitest";
import { siteOfStack } from "../src/source-site.js";

describe("siteOfStack", () => {
  it.each<[engine: string, stack: string, site: object]>([
    [
      "Chrome",
      "Error\n    at x (http://localhost/node_modules/.vite/deps/tfjs.js:1:2)\n    at step (http://localhost/src/train.js:12:20)",
      { line: "http://localhost/src/train.js:12:20", owner: undefined },
    ],
    [
      "Node",
      "Error\n    at Dense.addWeight (/app/node_modules/@tensorflow/tfjs/dist/tf.node.js:9:9)\n    at file:///app/src/serve.mjs:3:5",
      { line: "/app/src/serve.mjs:3:5", owner: "model" },
    ],
    [
      "Firefox",
      "applyGradients@http://localhost/node_modules/tfjs/tf.js:1:2\nstep@http://localhost/src/train.js:12:20\n",
      { line: "http://localhost/src/train.js:12:20", owner: "optimizer" },
    ],
    [
      "Safari, with no line of the user's",
      "add@http://localhost/node_modules/tfjs/tf.js:1:2\n[native code]",
      { line: undefined, owner: undefined },
    ],
  ])("reads what %s writes", (_, stack, site) => {
    expect(siteOfStack(stack)).toEqual(site);
  });
});
