import { createRequire } from "node:module";
// The first copy has the engine.
import * as tf from "@tensorflow/tfjs-core";
import { beforeAll, describe, expect, test, vi } from "vitest";
import type * as known from "../../src/gradients/acts-as-tfjs.js";
import type * as texts from "../../src/gradients/gradients-of-tfjs.js";
import type { DispatchMode, withDispatchMode } from "../../src/index.js";

const require = createRequire(import.meta.url);
const kernels = ["FusedBatchNorm", "Mean", "Sum", "Tile"];

interface Hook {
  readonly withDispatchMode: typeof withDispatchMode;
}

// Each copy registers its gradients again in the registry that all copies share.
describe.each(["@tensorflow/tfjs/dist/tf.min.js", "@tensorflow/tfjs/dist/tf.es2017.min.js", "@tensorflow/tfjs"])(
  "with the gradients of %s",
  (build) => {
    let acts: typeof known;
    let text: typeof texts;
    let hook: Hook;

    beforeAll(async () => {
      vi.resetModules();
      vi.spyOn(console, "warn").mockImplementation(() => {});
      require(build);
      await tf.setBackend("cpu");
      acts = await import("../../src/gradients/acts-as-tfjs.js");
      text = await import("../../src/gradients/gradients-of-tfjs.js");
      hook = await import("../../src/index.js");
    });

    const gradientOf = (kernel: string): tf.GradFunc => tf.getGradient(kernel).gradFunc;

    test.each(kernels)("that of %s is known by what it does, and nothing is computed", (kernel) => {
      const before = tf.memory();
      expect(text.isKnownGradient(kernel, gradientOf(kernel))).toBe(build === "@tensorflow/tfjs");
      expect(acts.actsAsTfjs(kernel, gradientOf(kernel))).toBe(true);
      expect(tf.memory()).toEqual(before);
      expect(Object.keys(tf.engine())).not.toContain("runKernel");
    });

    test.each(kernels)("one that does other things than that of %s is not", (kernel) => {
      const stock = gradientOf(kernel);
      const others: Readonly<Record<string, tf.GradFunc>> = {
        "of twice dy": (dy, saved, attributes) => stock(tf.add(dy as tf.Tensor, dy as tf.Tensor), saved, attributes),
        clipped: (dy, saved, attributes) => {
          const { x, ...others } = stock(dy, saved, attributes);
          return { x: () => tf.clipByValue(x(), -1, 1), ...others };
        },
        "of other attributes": (dy, saved, attributes) =>
          stock(dy, saved, { ...attributes, axis: [0], reps: [3, 3, 3, 3], varianceEpsilon: 1 } as never),
        "reads values": (dy, saved, attributes) => {
          (saved as tf.Tensor[])[0].dataSync();
          return stock(dy, saved, attributes);
        },
        throws: () => {
          throw new Error("no gradient");
        },
        "of fewer inputs": () => ({}),
      };
      for (const [name, other] of Object.entries(others))
        expect([name, acts.actsAsTfjs(kernel, other)]).toEqual([name, false]);
      expect(Object.keys(tf.engine())).not.toContain("runKernel");
    });

    test("batch normalization goes without tiling, and one's own gradient stays", () => {
      const x = tf.randomNormal([2, 3, 3, 4]) as tf.Tensor4D;
      const ones = tf.ones([4]) as tf.Tensor1D;
      const ran = (): readonly string[] => {
        const seen: string[] = [];
        const mode: DispatchMode = {
          fasterGradients: "equal",
          opDone: ({ kernel, differentiates }) => void (differentiates && seen.push(kernel)),
        };
        hook.withDispatchMode(mode, () =>
          tf.tidy(() => void tf.grad((y) => tf.batchNorm(y as never, ones, ones, ones, ones))(x)),
        );
        return seen;
      };
      expect(ran()).toContain("Rsqrt");
      expect(ran()).not.toContain("Tile");
      const config = tf.getGradient("FusedBatchNorm");
      tf.registerGradient({ ...config, gradFunc: (dy) => ({ x: () => tf.exp(dy as tf.Tensor) }) });
      try {
        expect(ran()).toEqual(["Reshape", "Exp"]);
      } finally {
        tf.registerGradient(config);
      }
    });
  },
);
