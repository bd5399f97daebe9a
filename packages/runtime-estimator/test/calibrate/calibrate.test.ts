import { fakeMode } from "@remat/dispatch-hook/fake";
import type { DeviceSpec } from "@remat/trace";
import { traceFakeStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, test } from "vitest";
import { allCases } from "../../src/calibrate/calibration-step.js";
import { type CalibrationCase, type CalibrationProgress, calibrate } from "../../src/calibrate/index.js";
import { parseDeviceSpec, priceTrace } from "../../src/index.js";
import { useCpu } from "../record-kernels.js";

beforeAll(useCpu);

const relus = [16, 64, 256, 1024].map(
  (size): CalibrationCase => ({ kind: "relu", name: `relu ${size}`, run: (input) => tf.relu(input(size)) }),
);
const short = { budgetMs: 1 };

describe("calibrate", () => {
  test("measures the speed of kernels on the current backend, as a device file holds it", async () => {
    const before = tf.memory().numTensors;
    const seen: CalibrationProgress[] = [];
    const facts = { memoryBytes: 8e9 };
    const device = await calibrate({
      ...short,
      budgetMs: 100,
      cases: relus,
      name: "mine",
      facts,
      onProgress: (each) => seen.push(each),
    });
    expect(device).toMatchObject({
      name: "mine",
      memoryBytes: 8e9,
      calibration: { backend: "cpu", notes: expect.any(Array) },
    });
    expect(Object.keys(device.kernels!)).toEqual(
      expect.arrayContaining(["Relu", "Slice", "Reshape", "elementwise", "view"]),
    );
    expect(device.kernels!["Relu"]).toMatchObject({ calls: 4, launchUs: expect.any(Number) });
    expect(parseDeviceSpec(JSON.stringify(device))).toEqual(device);
    expect(seen.map(({ phase }) => phase)).toEqual(expect.arrayContaining(["checking", "measuring"]));
    expect(seen.at(-1)).toEqual({ phase: "measuring", share: 1 });
    expect(tf.memory().numTensors).toBe(before);
  });

  test("leaves out ops that fail, and names them", async () => {
    const fails = {
      kind: "fails",
      name: "fails 1",
      run: () => {
        throw new Error("out of memory");
      },
    };
    const { kernels, calibration } = await calibrate({ ...short, budgetMs: 100, cases: [fails, ...relus] });
    expect(calibration!.notes).toContain("fails 1 failed: out of memory");
    expect(kernels).toHaveProperty("Relu");
  });

  test("leaves out larger sizes of an op that takes too long", async () => {
    let ran = 0;
    const slow = [1, 2].map(
      (size): CalibrationCase => ({
        kind: "slow",
        name: `slow ${size}`,
        run: () => {
          ran++;
          const end = process.cpuUsage().user + 20_000;
          while (process.cpuUsage().user < end);
        },
      }),
    );
    const { calibration } = await calibrate({ ...short, cases: [...slow, ...relus] });
    // The first call may also compile code, so it gets a second chance.
    expect(ran).toBe(2);
    expect(calibration!.notes.join()).toContain("large sizes of slow");
  });

  test("stops if it is told to", async () => {
    const before = tf.memory().numTensors;
    const signal = AbortSignal.abort(new Error("interrupted"));
    await expect(calibrate({ ...short, cases: relus, signal })).rejects.toThrow("interrupted");
    expect(tf.memory().numTensors).toBe(before);
  });

  test("refuses a backend that does not compute", async () => {
    await expect(fakeMode(() => calibrate({ ...short, cases: relus }), { backend: "cpu" })).rejects.toThrow(
      /backend '.*' does not compute, so its kernels cannot be calibrated\. Choose tensorflow, wasm or cpu\./,
    );
  });
});

test("the cases have what training calls most, each under a name of its own", async () => {
  const cases = allCases().map(({ kind, name }) => `${kind}: ${name}`);
  expect(new Set(cases).size).toBe(cases.length);
  const build = () =>
    tf.sequential({
      layers: [
        tf.layers.conv2d({ filters: 4, kernelSize: 3, inputShape: [8, 8, 3], activation: "relu" }),
        tf.layers.batchNormalization(),
        tf.layers.flatten(),
        tf.layers.dense({ units: 3, activation: "softmax" }),
      ],
    });
  const trace = await traceFakeStep(build, { backend: "cpu", batch: 2, optimizer: "adam" });
  const speed = { launchUs: 1, error: 0, calls: 3 };
  const device: DeviceSpec = {
    ...{ name: "all", tflops: { float32: 1 }, memoryGBps: 1, allocationUnitBytes: 1 },
    kernels: Object.fromEntries((await kernelsOfCases()).map((kernel) => [kernel, speed])),
    calibration: {
      ...{
        backend: "cpu",
        backendVersion: "",
        machine: "",
        at: "",
        cacheBytes: 1,
        dispatchUs: 0,
        error: 0.5,
        drift: 1,
      },
      notes: [],
    },
  };
  const priced = priceTrace(trace, device);
  const without = [...priced.ops.runtimeSpreadMs.keys()].filter((op) => Number.isNaN(priced.ops.runtimeSpreadMs[op]));
  expect(new Set(without.map((op) => priced.opName(op)))).toEqual(new Set([]));
});

/** The kernels that the cases call, found without computing. */
async function kernelsOfCases(): Promise<readonly string[]> {
  const { calibrationStep } = await import("../../src/calibrate/calibration-step.js");
  const cases = allCases().map((each) => ({ ...each, elements: 1 }));
  const trace = await traceFakeStep(calibrationStep(cases), { backend: "cpu", predict: true });
  return [...new Set(Array.from({ length: trace.ops.count }, (_, op) => trace.opName(op)))];
}
