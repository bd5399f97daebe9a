import * as tf from "@tensorflow/tfjs-core";
import { expect, it } from "vitest";
import { SACEstimator } from "../../src/estimator/index.js";

it("finds what autograd holds on a backend where saving copies", async () => {
  const saved = async (backend: "fake:cpu" | "fake:wasm"): Promise<number[]> => {
    const estimator = new SACEstimator({ device: "cpu" });
    await estimator.estimate(
      "operator-level-cost-model",
      ({ scope, record }) => {
        const w = tf.variable(tf.ones([4, 4]));
        const x = tf.ones([8, 4]);
        const forward = () =>
          scope("net", () =>
            scope("part", () => tf.sum(tf.tanh(tf.matMul(x as tf.Tensor2D, w as unknown as tf.Tensor2D))) as tf.Scalar),
          );
        record(() => tf.variableGrads(forward, [w]));
      },
      { backend },
    );
    return Array.from(estimator.sacModStats.get("net")?.savedAutogradOps ?? []);
  };
  const onCpu = await saved("fake:cpu");
  expect(onCpu.length).toBeGreaterThan(0);
  expect(await saved("fake:wasm")).toEqual(onCpu);
});
