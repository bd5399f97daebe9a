import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { readPyTorchTrace } from "@remat/pytorch";
import { Phase, type Trace } from "@remat/trace";
import { traceFakeStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { describe, expect, test } from "vitest";
import { deviceSpec, layerCosts, priceTrace } from "../src/index.js";

interface FlopCase {
  readonly name: string;
  /** The step as `record`, `record_step` and `export_step` wrote it. */
  readonly files: Readonly<Record<string, unknown>>;
  /** What FlopCounterMode counts, forward and backward. */
  readonly by_default: readonly [number, number];
  /** The same with formulas for the ops that it does not know. Null if nothing counts them. */
  readonly counted: readonly [number, number | null];
}

/** Written by `node tooling/pytorch-exporter/test.js --fixture`. */
const cases = JSON.parse(
  gunzipSync(readFileSync(new URL("fixtures/flop-cases.json.gz", import.meta.url))).toString(),
) as readonly FlopCase[];
const caseOf = (name: string) => cases.find((each) => each.name === name) as FlopCase;
const a100 = deviceSpec("a100");

function stepFlops(trace: Trace): readonly [forward: number, backward: number] {
  const { flops, phase, count } = trace.ops;
  let [forward, backward] = [0, 0];
  for (let op = 0; op < count; op++) {
    if (phase[op] === Phase.forward) forward += flops[op];
    else if (phase[op] === Phase.backward) backward += flops[op];
  }
  return [forward, backward];
}

describe.each(cases)("FLOPs of $name are FlopCounterMode's", ({ name, files, by_default, counted }) => {
  const [forward, backward] = counted;

  test.each(Object.keys(files))("recorded by %s", (writer) => {
    const trace = readPyTorchTrace(files[writer]);
    const priced = priceTrace(trace, a100);
    const found = stepFlops(priced);
    expect(found).toEqual([forward, backward ?? found[1]]);
    expect(layerCosts(priced).total.flops).toBe(forward);
    // A measured trace has no FLOPs in its columns.
    expect(layerCosts(trace).total).toMatchObject({ flops: forward, multiplyAdds: forward / 2 });
    // The exporter replaces attention by the kernel of a GPU, which PyTorch's registry has.
    const isKnown = name === "attention" && writer === "export_step";
    expect(stepFlops(priceTrace(trace, a100, { asPytorch: true }))).toEqual(isKnown ? counted : by_default);
  });
});

test("the ops without a formula in FlopCounterMode are counted", () => {
  for (const name of ["attention", "scores", "recurrent"])
    expect(caseOf(name).counted[0], name).toBeGreaterThan(caseOf(name).by_default[0]);
  const { counted, by_default } = caseOf("mlp");
  expect(counted).toEqual(by_default);
});

test("a recurrent layer takes twice as many FLOPs backward as forward", () => {
  const [forward, backward] = stepFlops(priceTrace(readPyTorchTrace(caseOf("recurrent").files["record"]), a100));
  expect(backward).toBe(2 * forward);
});

describe("the same model in TensorFlow.js has the same FLOPs", () => {
  const { layers } = tf;
  const models: Readonly<Record<string, readonly [batch: number, build: () => tf.LayersModel]>> = {
    mlp: [
      8,
      () =>
        tf.sequential({
          layers: [layers.dense({ units: 12, activation: "relu", inputShape: [6] }), layers.dense({ units: 4 })],
        }),
    ],
    convolutions: [
      2,
      () =>
        tf.sequential({
          layers: [
            layers.conv2d({ filters: 8, kernelSize: 3, activation: "relu", inputShape: [11, 11, 3] }),
            layers.depthwiseConv2d({ kernelSize: 3, strides: 2 }),
            layers.conv2dTranspose({ filters: 4, kernelSize: 2, strides: 2 }),
            layers.flatten(),
            layers.dense({ units: 5 }),
          ],
        }),
    ],
  };

  test.each(Object.entries(models))("%s", async (name, [batch, build]) => {
    const trace = priceTrace(await traceFakeStep(build, { batch, backend: "cpu" }), a100);
    const [forward] = caseOf(name).counted;
    expect(layerCosts(trace).total.flops).toBe(forward);
  });
});
