import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { heldPeak } from "@remat/memory";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace, stepMs } from "@remat/runtime-estimator";
import { parseShardingPlan, simulateFsdp, withOptimizer } from "@remat/sharding";
import { describe, expect, it, test } from "vitest";
import { fitUnitBatch, stepsOfRuns, unitsOf } from "../src/index.js";
import { goldenRun, sizedRuns } from "./steps.js";

describe("two recorded batches", () => {
  it.each(["lstm_batch", "convolutions_batch"])(
    "predict %s at a third: its peak to the byte, and the cost of its ops",
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

  test("tell a third in the other dtype that they were recorded in, too", async () => {
    const file = new URL("fixtures/net-in-two-dtypes.json.gz", import.meta.url);
    const byBatch = JSON.parse(gunzipSync(readFileSync(file)).toString()) as Record<string, unknown>;
    const runs = Object.entries(byBatch).map(([batch, run]) => ({
      name: `batch ${batch}`,
      size: Number(batch),
      trace: readPyTorchTrace(run),
    }));
    const { stepAt } = stepsOfRuns(runs.slice(0, 2));
    for (const { size, trace } of runs) {
      const scaled = await stepAt(size, undefined);
      const [ours, recorded] = [scaled, trace].map((each) => priceTrace(each, deviceSpec("a100")));
      for (const plan of ["world=4,bf16", "world=4"]) {
        const [a, b] = [ours, recorded].map((each) => simulateFsdp(each, parseShardingPlan(plan)).trace);
        expect(heldPeak(a).peakBytes).toBe(heldPeak(b).peakBytes);
      }
      const [inLow, recordedInLow] = [ours, recorded].map((each) => each.recordedIn.get("bfloat16")!);
      expect(stepMs(inLow)).toBeCloseTo(stepMs(recordedInLow), 9);
    }
  });

  test("are not two lengths", () => {
    expect(() => stepsOfRuns(sizedRuns("lstm_length").slice(0, 2))).toThrow(/differ in dimension 1|not in the batch/);
  });
});

describe("one recorded run", () => {
  const steps = stepsOfRuns([goldenRun("mem_mlp4_adam")]);
  const [batch] = steps.recordedBatches!;

  it("is asked for its own batch alone", () => {
    const units = unitsOf({ devices: [deviceSpec("a100")], ways: ["stock"] }, steps);
    expect(units.map((unit) => unit.batches)).toEqual([[batch]]);
    expect(() => unitsOf({ devices: [deviceSpec("a100")], batches: [batch + 1] }, steps)).toThrow(
      `was recorded only with a batch of ${batch}`,
    );
  });

  it("has its own optimizer, or one that it can be given, to the byte", async () => {
    const recorded = await steps.stepAt(batch, undefined);
    expect(await steps.stepAt(batch, "adam")).toBe(recorded);
    const swapped = heldPeak(withOptimizer(recorded, "adamw8bit"));
    expect(swapped.peakBytes).toBeLessThan(heldPeak(recorded).peakBytes);
    expect(heldPeak(await steps.stepAt(batch, "adamw8bit"))).toMatchObject({ peakBytes: swapped.peakBytes });
    await expect(steps.stepAt(batch, "sgd")).rejects.toThrow("was not recorded with sgd");
  });

  it("is looked through with several optimizers; what cannot be is an answer", async () => {
    const grid = unitsOf(
      { devices: [deviceSpec("a100")], ways: ["stock"], optimizers: ["sgd", "adam", "adamw8bit"], ranks: [1, 8] },
      steps,
    );
    const answers = [];
    for (const unit of grid) answers.push(await fitUnitBatch(unit, steps));
    expect(
      answers.map((answer) => {
        const { optimizer, ranks } = answer.kind === "fits" ? answer.row.configuration : answer.configuration;
        return [optimizer, ranks, answer.kind === "refused" ? answer.reason : answer.kind];
      }),
    ).toEqual([
      ["sgd", 1, expect.stringContaining("was not recorded with sgd")],
      ["sgd", 8, expect.stringContaining("was not recorded with sgd")],
      ["adam", 1, "fits"],
      ["adam", 8, "fits"],
      ["adamw8bit", 1, "fits"],
      ["adamw8bit", 8, expect.stringContaining("cannot update the DTensors that FSDP2 makes of weights")],
    ]);
  });

  it("refuses an optimizer that nobody knows", () => {
    expect(() => unitsOf({ devices: [deviceSpec("a100")], optimizers: ["lion"] }, steps)).toThrow(
      'unknown optimizer "lion" for a recorded run. Use one of adam, adamw, sgd, adamw8bit.',
    );
  });

  it("has no measured times beside those of an update that was not recorded", () => {
    const measured = { ...steps, isMeasured: true };
    const keeps = (optimizers: readonly string[]): unknown =>
      unitsOf({ devices: [deviceSpec("a100")], optimizers }, measured)[0].keepsMeasured;
    expect([keeps(["adam"]), keeps(["adam", "adamw8bit"])]).toEqual([true, undefined]);
  });
});
