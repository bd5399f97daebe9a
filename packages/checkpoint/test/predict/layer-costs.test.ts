import { deviceSpec, layerCosts, priceTrace } from "@remat/runtime-estimator";
import { traceFakeStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { describe, expect, it } from "vitest";

const { layers } = tf;
const build = (): tf.LayersModel =>
  tf.sequential({
    layers: [
      layers.conv2d({ name: "conv", filters: 8, kernelSize: 3, inputShape: [10, 10, 3], useBias: true }),
      layers.batchNormalization({ name: "norm" }),
      layers.activation({ name: "relu", activation: "relu" }),
      layers.depthwiseConv2d({ name: "depthwise", kernelSize: 3, useBias: false }),
      layers.flatten({ name: "flat" }),
      layers.dense({ name: "dense", units: 5 }),
    ],
  });

describe("memory and time of layers", () => {
  it.each([true, false])("is counted as papers do, predicted or trained (%s)", async (predict) => {
    const samples = 2;
    const trace = await traceFakeStep(build, { batch: samples, backend: "cpu", ...(predict && { predict }) });
    const { layers: found, total, outside } = layerCosts(priceTrace(trace, deviceSpec("a100")));
    const told = found.map(({ fqn, parameters, buffers, multiplyAdds, outputShape }) => [
      fqn.split(".").at(-1),
      parameters,
      buffers,
      multiplyAdds,
      outputShape,
    ]);
    const expected = [
      ["conv", 3 * 3 * 3 * 8 + 8, 0, samples * 8 * 8 * 8 * 27, [samples, 8, 8, 8]],
      ["norm", 16, 16, 0, [samples, 8, 8, 8]],
      ["relu", 0, 0, 0, [samples, 8, 8, 8]],
      ["depthwise", 3 * 3 * 8, 0, samples * 6 * 6 * 8 * 9, [samples, 6, 6, 8]],
      ["flat", 0, 0, 0, [samples, 288]],
      ["dense", 288 * 5 + 5, 0, samples * 288 * 5, [samples, 5]],
    ];
    expect(told).toEqual(expected);
    const sum = (column: number): number => expected.reduce((all, row) => all + (row[column] as number), 0);
    expect(total).toMatchObject({ parameters: sum(1), buffers: sum(2), multiplyAdds: sum(3) });
    expect(outside.multiplyAdds).toBe(0);
    expect(total.flops).toBe(2 * total.multiplyAdds);
    expect(total.flops - outside.flops).toBe(found.reduce((all, { flops }) => all + flops, 0));
    // As tfjs-layers itself counts them.
    const model = build();
    expect(total.parameters + total.buffers).toBe(model.countParams());
    model.dispose();
  });

  it("counts a layer that is used twice once", async () => {
    const shared = (): tf.LayersModel => {
      const x = tf.input({ shape: [4] });
      const dense = layers.dense({ name: "shared", units: 4 });
      const y = dense.apply(dense.apply(x)) as tf.SymbolicTensor;
      return tf.model({ inputs: x, outputs: y });
    };
    const trace = await traceFakeStep(shared, { predict: true, backend: "cpu" });
    const { layers: found, total } = layerCosts(priceTrace(trace, deviceSpec("a100")));
    expect(found.find(({ fqn }) => fqn.endsWith("shared"))).toMatchObject({
      calls: 2,
      parameters: 20,
      multiplyAdds: 32,
    });
    expect(total.parameters).toBe(20);
  });
});
