import { heldPeak } from "@remat/memory";
import { deviceSpec, priceTrace, stepMs } from "@remat/runtime-estimator";
import { describe, expect, it, test } from "vitest";
import { stepsOfRuns, unitsOf } from "../src/index.js";
import { goldenRun, sizedRuns } from "./steps.js";

describe("two recorded batches", () => {
  it.each(["lstm_batch", "convolutions_batch"])(
    "of %s tell a third: its peak to the byte, and what its ops cost",
    async (name) => {
      const runs = sizedRuns(name);
      const { stepAt, recordedBatches, residualBytes } = stepsOfRuns(runs.slice(0, 2));
      expect(recordedBatches).toEqual(runs.slice(0, 2).map(({ size }) => size));
      expect(residualBytes).toBe(0);
      for (const { size, trace } of runs) {
        const scaled = await stepAt(size, undefined);
        expect(heldPeak(scaled)).toMatchObject({ peakBytes: heldPeak(trace).peakBytes });
        const [ours, recorded] = [scaled, trace].map((each) => priceTrace(each, deviceSpec("a100")));
        expect(stepMs(ours)).toBeCloseTo(stepMs(recorded), 9);
        expect([...ours.ops.flops]).toEqual([...recorded.ops.flops]);
      }
    },
  );

  test("are not two lengths", () => {
    expect(() => stepsOfRuns(sizedRuns("lstm_length").slice(0, 2))).toThrow(/differ in side 1|a batch is its first/);
  });
});

describe("one recorded run", () => {
  const steps = stepsOfRuns([goldenRun("mem_mlp4_adam")]);
  const [batch] = steps.recordedBatches!;

  it("is asked for its own batch alone", () => {
    const units = unitsOf({ devices: [deviceSpec("a100")], ways: ["stock"] }, steps);
    expect(units.map((unit) => unit.batches)).toEqual([[batch]]);
    expect(() => unitsOf({ devices: [deviceSpec("a100")], batches: [batch + 1] }, steps)).toThrow(
      `was recorded with a batch of ${batch} alone`,
    );
  });

  it("has its own optimizer", async () => {
    await expect(steps.stepAt(batch, "sgd")).rejects.toThrow("--optimizer sgd cannot change");
  });
});
