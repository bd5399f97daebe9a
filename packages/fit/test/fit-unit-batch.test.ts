import { heldPeak } from "@remat/memory";
import { CheckpointedSteps } from "@remat/memory/checkpointing";
import { planTorchCheckpoints } from "@remat/planner/executors";
import { countSteps, deviceSpec, priceTrace, stepMs } from "@remat/runtime-estimator";
import { accumulatedRun, type ShardingPlan, simulateFsdp } from "@remat/sharding";
import { compareShardings } from "@remat/sharding/compare";
import { dailyRuns, goldensOf } from "@remat/testkit";
import { checkedShare } from "@remat/testkit/checked-share";
import type { Trace } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FitUnit, fitUnitBatch, type StepsToFit, stepsOfRuns, unitsOf } from "../src/index.js";
import { goldenRun, plainRun, sizedRuns } from "./steps.js";

const scaled = ["lstm_batch", "convolutions_batch"].map((name) => stepsOfRuns(sizedRuns(name).slice(0, 2)));

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

const isAlone = ({ configuration: { ranks, precision } }: FitUnit): boolean => ranks === 1 && precision === "f32";

/** Computes a batch's memory from the candidate limits themselves. Undefined if it does not fit. */
async function directly(
  unit: FitUnit,
  steps: StepsToFit,
  batch: number,
  rounds = 10,
): Promise<{ peakBytes: number; rate: number } | undefined> {
  const { spec, memoryBytes, maxOverhead, globalBatch, iterations: _, configuration } = unit;
  const { way, ranks, precision } = configuration;
  const passes = globalBatch === undefined ? 1 : globalBatch / (batch * ranks);
  if (!Number.isInteger(passes)) return undefined;
  const pass = priceTrace(await steps.stepAt(batch, undefined), spec);
  const trace = isAlone(unit) ? priceTrace(accumulatedRun(pass, passes), spec) : pass;
  const rateOf = (ms: number): number => (1000 * batch * ranks * passes) / ms;
  const within = (peakBytes: number, ms: number) =>
    peakBytes <= memoryBytes ? { peakBytes, rate: rateOf(ms) } : undefined;
  if (isAlone(unit)) {
    if (way === "stock") return within(heldPeak(trace).peakBytes, stepMs(trace) / countSteps(trace));
    const { found } = planTorchCheckpoints(trace, {
      budget: { bytes: memoryBytes },
      maxOverhead,
      rounds,
      now: () => 0,
    });
    return found && within(found.peakBytes, (stepMs(trace) / countSteps(trace)) * (1 + found.overhead));
  }
  const plan: ShardingPlan = {
    worldSize: ranks,
    ...(precision === "bf16" && { mixedPrecision: { param: "bfloat16" } }),
    ...(passes > 1 && { microBatches: passes }),
    ...(way === "offload" && { cpuOffload: true }),
  };
  const { time } = compareShardings(trace, [{ name: "", plan }], { device: spec }).outcomes[1];
  return within(heldPeak(simulateFsdp(trace, plan).trace).peakBytes, time!.stepMs);
}

describe("the batch of a configuration", () => {
  it("is the best of all that fit, and holds what the rooms say of it", async () => {
    const checked = checkedShare();
    const grids = fc.record({
      steps: fc.constantFrom(...scaled),
      batches: fc.uniqueArray(fc.oneof(fc.constantFrom(2, 4, 8), fc.integer({ min: 1, max: 40 })), {
        minLength: 2,
        maxLength: 5,
      }),
      memoryBytes: fc.integer({ min: 150_000, max: 900_000 }),
      ranks: fc.constantFrom(1, 2, 8),
      precision: fc.constantFrom("f32" as const, "bf16" as const),
      way: fc.constantFrom("stock" as const, "recompute" as const, "offload" as const),
      globalBatch: fc.option(fc.constantFrom(16, 48, 96), { nil: undefined, freq: 1 }),
      device: fc.constantFrom("a100", "l4"),
    });
    let fitting = 0;
    await fc.assert(
      fc.asyncProperty(grids, async ({ steps, device, precision, way, ranks, globalBatch, ...rest }) => {
        const given = { ...rest, ...(globalBatch !== undefined && { globalBatch }) };
        const [unit] = unitsOf(
          { ...given, devices: [deviceSpec(device)], ways: [way], ranks: [ranks], precisions: [precision] },
          steps,
        );
        // Which modules are checkpointed on a rank is chosen by no search; with several passes see below.
        fc.pre(
          isAlone(unit) ? way !== "offload" && (way !== "recompute" || globalBatch === undefined) : way !== "recompute",
        );
        const answer = await fitUnitBatch(unit, steps);
        const all = await Promise.all(unit.batches.map((batch) => directly(unit, steps, batch)));
        const rates = all.flatMap((found) => (found === undefined ? [] : [found.rate]));
        checked(answer.kind === "fits");
        if (answer.kind !== "fits") {
          expect(rates).toEqual([]);
          return;
        }
        fitting++;
        const { row } = answer;
        const same = all[unit.batches.indexOf(row.batch)]!;
        expect(row.peakBytes).toBe(same.peakBytes);
        expect(row.samplesPerSecond).toBeCloseTo(same.rate, 6);
        expect(row.samplesPerSecond! * (1 + 1e-9)).toBeGreaterThanOrEqual(Math.max(...rates));
      }),
      { numRuns: dailyRuns(40) },
    );
    expect(fitting).toBeGreaterThan(dailyRuns(40) / 8);
  });

  it("keeps free what kernels hold beside tensors, and is still the largest that fits", async () => {
    const checked = checkedShare();
    const [, steps] = scaled;
    // Proportional to the batch, like the patches of a convolution.
    const perSample = 7_001;
    const libraryBytesOf = (trace: Trace): number => perSample * trace.tensorShape(trace.opInputs(0)[0])[0];
    const libraryBytesAt = async (batch: number): Promise<number> =>
      libraryBytesOf(await steps.stepAt(batch, undefined));
    const batches = range(1, 40);
    const needed = new Map<number, number>();
    for (const batch of batches) {
      const trace = await steps.stepAt(batch, undefined);
      needed.set(batch, heldPeak(trace).peakBytes + libraryBytesOf(trace));
    }
    let fewer = 0;
    const memories = fc.record({
      memoryBytes: fc.integer({ min: 100_000, max: 900_000 }),
      way: fc.constantFrom("stock" as const, "stock" as const, "stock" as const, "recompute" as const),
    });
    await fc.assert(
      fc.asyncProperty(memories, async ({ memoryBytes, way }) => {
        const asked = { devices: [deviceSpec("cpu")], batches, ways: [way], memoryBytes, objective: "batch" as const };
        const without = await fitUnitBatch(unitsOf(asked, steps)[0], steps);
        const answer = await fitUnitBatch(unitsOf(asked, steps)[0], { ...steps, libraryBytesAt });
        const largest = Math.max(0, ...batches.filter((batch) => needed.get(batch)! <= memoryBytes));
        checked(answer.kind === "fits");
        if (answer.kind !== "fits") {
          expect(largest).toBe(0);
          return;
        }
        const { batch, peakBytes, libraryBytes, memoryBytes: roomBytes } = answer.row;
        expect(libraryBytes).toBe(await libraryBytesAt(batch));
        expect(roomBytes).toBe(memoryBytes - libraryBytes!);
        expect(peakBytes).toBeLessThanOrEqual(roomBytes);
        if (way === "stock") expect(batch).toBe(largest);
        else expect(batch).toBeGreaterThanOrEqual(largest);
        if (without.kind === "fits" && without.row.batch > batch) fewer++;
      }),
      { numRuns: dailyRuns(16) },
    );
    expect(fewer).toBeGreaterThan(dailyRuns(16) / 4);
  });

  it("holds in several passes what a plan leaves of each, and is within memory and time", async () => {
    const steps = stepsOfRuns([plainRun("bf16-plain")]);
    const [batch] = steps.recordedBatches!;
    const devices = [deviceSpec("a100")];
    const plain = priceTrace(await steps.stepAt(batch, undefined), devices[0]);
    const stockBytes = heldPeak(accumulatedRun(plain, 3)).peakBytes;
    let recomputing = 0;
    for (const [passes, share, maxOverhead, objective] of [
      [1, 0.8, 0.5, "throughput"],
      [2, 0.8, 0.5, "throughput"],
      [3, 0.7, 0.5, "throughput"],
      [3, 0.9, 0.5, "throughput"],
      [3, 1, 0.1, "memory"],
    ] as const) {
      const memoryBytes = Math.floor(share * stockBytes);
      const asked = { devices, ways: ["recompute"] as const, globalBatch: passes * batch, memoryBytes };
      const [unit] = unitsOf({ ...asked, maxOverhead, objective }, steps);
      const answer = await fitUnitBatch(unit, steps);
      if (answer.kind !== "fits") continue;
      const { row } = answer;
      expect(row.microBatches).toBe(passes);
      const followed = accumulatedRun(new CheckpointedSteps(plain).under(row.policy!, ""), passes);
      expect(row.peakBytes).toBe(heldPeak(followed).peakBytes);
      expect(row.peakBytes).toBeLessThanOrEqual(memoryBytes);
      expect(row.overhead).toBeLessThanOrEqual(maxOverhead);
      expect(row.stepMs).toBeCloseTo(stepMs(priceTrace(followed, unit.spec)) / countSteps(plain), 6);
      expect(row.bytesByCategory).toEqual(heldPeak(followed).bytesByCategory);
      if (row.policy!.length > 0 && passes > 1) recomputing++;
    }
    expect(recomputing).toBeGreaterThan(2);
  });

  it("holds in two passes what PyTorch held that took two", async () => {
    const steps = stepsOfRuns([goldenRun("mem_mlp4_adam")]);
    const [batch] = steps.recordedBatches!;
    const devices = [deviceSpec("a100")];
    const [unit] = unitsOf({ devices, ways: ["stock"], globalBatch: 2 * batch }, steps);
    const recorded = heldPeak(goldenRun("mem_mlp4_accumulate_2_adam").trace).peakBytes;
    expect(await fitUnitBatch(unit, steps)).toMatchObject({ row: { microBatches: 2, peakBytes: recorded } });
  });

  it("is of one pass in TensorFlow.js, which updates after each", async () => {
    const { name, stepAt } = scaled[0];
    const steps: StepsToFit = { name, stepAt, framework: "tfjs" };
    const devices = [deviceSpec("a100")];
    const asked = { devices, ways: ["stock"] as const, globalBatch: 16 };
    const [within] = unitsOf({ ...asked, batches: [4, 8, 16] }, steps);
    expect(await fitUnitBatch(within, steps)).toMatchObject({ row: { batch: 16, microBatches: 1 } });
    const [without] = unitsOf({ ...asked, batches: [4, 8] }, steps);
    expect(await fitUnitBatch(without, steps)).toMatchObject({
      kind: "refused",
      reason: expect.stringContaining("TensorFlow.js updates weights after every pass"),
    });
  });

  it("is the smallest where memory counts", async () => {
    const [steps] = scaled;
    const devices = [deviceSpec("a100")];
    const [unit] = unitsOf({ devices, ways: ["stock"], batches: [3, 5], objective: "memory" }, steps);
    const { peakBytes } = heldPeak(await steps.stepAt(3, undefined));
    expect(await fitUnitBatch(unit, steps)).toMatchObject({ kind: "fits", row: { batch: 3, peakBytes } });
  });

  it("is the largest that has a plan where that is asked for, and the next one has none", async () => {
    const [, steps] = scaled;
    const memoryBytes = 300_000;
    const [unit] = unitsOf(
      { devices: [deviceSpec("a100")], ways: ["recompute"], memoryBytes, objective: "batch", batches: range(1, 60) },
      steps,
    );
    const answer = await fitUnitBatch(unit, steps);
    if (answer.kind !== "fits") throw new Error("expected a batch");
    const { batch } = answer.row;
    expect(batch).toBeGreaterThan(2);
    const rounds = 10 * (answer.row.effort ?? 1);
    expect(await directly(unit, steps, batch, rounds)).toMatchObject({ peakBytes: answer.row.peakBytes });
    expect(await directly(unit, steps, batch + 1, 640)).toBeUndefined();
    // Nothing is proven for PyTorch's checkpoints.
    const unproven = { from: batch + 1, to: 60 };
    expect(answer.row.next).toMatchObject({ batch: batch + 1, isProven: false, unproven });
  });

  it("tells of what does not fit what takes most of it", async () => {
    const [, steps] = scaled;
    const [unit] = unitsOf(
      { devices: [deviceSpec("a100")], ways: ["stock"], memoryBytes: 1000, batches: [4, 8] },
      steps,
    );
    const { peakBytes, bytesByCategory } = heldPeak(await steps.stepAt(4, undefined));
    const [binds, bindsBytes] = Object.entries(bytesByCategory).sort((a, b) => b[1] - a[1])[0];
    expect(await fitUnitBatch(unit, steps)).toMatchObject({
      kind: "not-fitting",
      smallest: { batch: 4, peakBytes, binds, bindsBytes },
    });
  });

  it("is that at which the next one does not fit", async () => {
    const [, steps] = scaled;
    const memoryBytes = 500_000;
    const [unit] = unitsOf({ devices: [deviceSpec("a100")], ways: ["stock"], memoryBytes }, steps);
    const answer = await fitUnitBatch(unit, steps);
    if (answer.kind !== "fits") throw new Error("expected a batch");
    const peakAt = async (batch: number) => heldPeak(await steps.stepAt(batch, undefined)).peakBytes;
    expect(await peakAt(answer.row.batch)).toBeLessThanOrEqual(memoryBytes);
    expect(await peakAt(answer.row.batch + 1)).toBeGreaterThan(memoryBytes);
    expect(answer.row.next).toMatchObject({ batch: answer.row.batch + 1 });
  });

  it.each([0.5, 1, 2])("is the same where steps scaled by %f say something else", async (share) => {
    const [, steps] = scaled;
    const lying: StepsToFit = {
      ...steps,
      scaled: async () => ({
        ...steps,
        stepAt: (batch, optimizer) => steps.stepAt(Math.max(1, Math.floor(share * batch)), optimizer),
      }),
    };
    for (const way of ["stock", "recompute"] as const) {
      const [unit] = unitsOf(
        { devices: [deviceSpec("a100")], ways: [way], memoryBytes: 500_000, batches: [2, 3, 5, 8, 13, 21, 34] },
        steps,
      );
      expect(await fitUnitBatch(unit, lying)).toEqual(await fitUnitBatch(unit, steps));
    }
  });

  it.each([
    ["early-release", 1, "early-release is for TensorFlow.js only"],
    ["update-in-backward", 2, "update-in-backward is for one device only"],
    ["offload", 1, "plans that offload are supported for TensorFlow.js only"],
  ] as const)("of a run of PyTorch with %s on %i is refused by name", async (way, ranks, reason) => {
    const [unit] = unitsOf({ devices: [deviceSpec("a100")], ways: [way], ranks: [ranks] }, scaled[0]);
    expect(await fitUnitBatch(unit, scaled[0])).toMatchObject({
      kind: "refused",
      reason: expect.stringContaining(reason),
    });
  });

  it("is rejected by name if its samples cannot be divided", async () => {
    const [steps] = scaled;
    const [unit] = unitsOf(
      { devices: [deviceSpec("a100")], ways: ["stock"], ranks: [8], batches: [3], globalBatch: 32 },
      steps,
    );
    const reason = "no batch of 3 on 8 ranks makes up 32 samples";
    expect(await fitUnitBatch(unit, steps)).toMatchObject({ kind: "refused", reason });
  });
});

describe("checkpointing", () => {
  it("on a rank applies to repeated blocks, and a run without recorded saves is rejected", async () => {
    const steps = stepsOfRuns([plainRun()]);
    const [unit] = unitsOf({ devices: [deviceSpec("a100")], ways: ["recompute"], ranks: [4] }, steps);
    const answer = await fitUnitBatch(unit, steps);
    expect(answer).toMatchObject({
      kind: "fits",
      row: { sharding: { worldSize: 4, checkpoint: [{ modules: expect.any(Array) }] } },
    });
    const { trace } = plainRun();
    if (answer.kind === "fits")
      expect(answer.row.peakBytes).toBe(heldPeak(simulateFsdp(trace, answer.row.sharding!).trace).peakBytes);
    const golden = stepsOfRuns([goldenRun("mem_mlp4_adam")]);
    const [other] = unitsOf({ devices: [deviceSpec("a100")], ways: ["recompute"] }, golden);
    expect(await fitUnitBatch(other, golden)).toMatchObject({ kind: "refused" });
  });
});

describe("a rank", () => {
  // Settings that a row can express: the user's units, all resharded after the forward pass, in the precision of the
  // run.
  it.each([
    ["fsdp_tf_ws4_reshard1", "mem_tf_b2_adam", 4, "stock"],
    ["fsdp_tf_ws8_reshard1", "mem_tf_b2_adam", 8, "stock"],
    ["fsdp_tf_ws4_reshard1_offload", "mem_tf_b2_adam", 4, "offload"],
    ["fsdp_mlp4_ws4_reshard1", "mem_mlp4_adam", 4, "stock"],
  ] as const)("holds what PyTorch's own tracker saw, to the byte: %s", async (name, alone, ranks, way) => {
    const { golden } = goldensOf("fsdp-oracle/1").find(({ file }) => file.name === name)!;
    const sharded = (golden["module_tree"] as { fqn: string; fsdp: boolean }[]).filter(({ fsdp }) => fsdp);
    const wrap = sharded.map(({ fqn }) => fqn).filter((fqn) => fqn !== "");
    const steps = stepsOfRuns([goldenRun(alone)]);
    const devices = [deviceSpec("a100")];
    const [unit] = unitsOf({ devices, ways: [way], ranks: [ranks], wraps: [wrap] }, steps);
    expect(await fitUnitBatch(unit, steps)).toMatchObject({
      kind: "fits",
      row: { peakBytes: golden["results"].peak["cuda:0"].Total },
    });
  });
});
