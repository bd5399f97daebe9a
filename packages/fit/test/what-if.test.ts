import { heldPeak } from "@remat/memory";
import { countSteps, deviceSpec, priceTrace, stepMs } from "@remat/runtime-estimator";
import { parseShardingPlan } from "@remat/sharding";
import { compareShardings } from "@remat/sharding/compare";
import { Category, Phase, RuntimeSource, type Trace, TraceBuilder } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  answerUsualWhatIfs,
  answerWhatIf,
  fitUnitBatch,
  fitWays,
  type PresentStep,
  parseWhatIf,
  presentWhatIf,
  type RecordedRun,
  stepsAtHand,
  unitsOf,
} from "../src/index.js";
import { usualWhatIfs } from "../src/what-if/answer-what-if.js";
import { describeWhatIf } from "../src/what-if/what-if.js";
import { goldenRun, plainRun, sizedRuns } from "./steps.js";

const a100 = deviceSpec("a100");

function presentOf(runs: readonly RecordedRun[], device = a100): PresentStep {
  return { trace: priceTrace(runs[0].trace, device), steps: stepsAtHand(runs), device, pricedFor: device };
}

const twoBatches = presentOf(sizedRuns("convolutions_batch").slice(0, 2));
const oneRun = presentOf([goldenRun("mem_mlp4_adam")]);
const devices = ["t4", "l4", "a100", "h100", "h200"].map((name) => deviceSpec(name));
const device = fc.option(fc.constantFrom(...devices), { nil: undefined });

describe("an answer is what remat fit says of the same configuration", () => {
  const stock = fitWays.find(({ name }) => name === "stock")!;

  it("for any batch, device, precision and number of ranks", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 300 }),
        device,
        fc.constantFrom("f32" as const, "bf16" as const),
        fc.constantFrom(1, 2, 8, 64),
        async (batch, spec, precision, ranks) => {
          const { steps } = twoBatches;
          const [unit] = unitsOf(
            { devices: [spec ?? a100], batches: [batch], precisions: [precision], ranks: [ranks], ways: ["stock"] },
            steps,
          );
          const expected = await stock.stepWith(unit, steps, batch, 1);
          const sharding = ranks === 1 ? {} : { sharding: `world=${ranks}` };
          const asked = describeWhatIf({ batch, precision, ...(spec && { device: spec }), ...sharding });
          const row = await answerWhatIf(twoBatches, asked);
          expect(row.answer).toContain("peak");
          expect(row.peakBytes).toBe(expected.peakBytes);
          expect(row.stepMs).toBeCloseTo(expected.stepMs!, 9);
          expect(row.fits).toBe(expected.peakBytes <= (spec ?? a100).memoryBytes!);
        },
      ),
      { numRuns: 40 },
    );
  });

  it("for the largest batch", async () => {
    for (const spec of devices) {
      const small = { ...spec, memoryBytes: 2 * heldPeak(twoBatches.trace).peakBytes };
      const present = { ...twoBatches, device: small };
      const [unit] = unitsOf({ devices: [small], ways: ["stock"] }, present.steps);
      const found = await fitUnitBatch(unit, present.steps);
      const row = await answerWhatIf(present, "batch=largest");
      if (found.kind !== "fits") throw new Error(found.kind);
      expect(row.question).toBe(`batch=largest: ${found.row.batch}`);
      expect(row.peakBytes).toBe(found.row.peakBytes);
      expect((await answerWhatIf(present, `batch=${found.row.batch + 1}`)).fits).toBe(false);
    }
  });

  it("for another optimizer", async () => {
    const [unit] = unitsOf({ devices: [a100], optimizers: ["adamw8bit"], ways: ["stock"] }, oneRun.steps);
    const expected = await stock.stepWith(unit, oneRun.steps, unit.batches[0], 1);
    const row = await answerWhatIf(oneRun, "optimizer=adamw8bit");
    expect(row.peakBytes).toBe(expected.peakBytes);
    expect(row.stepMs).toBe(expected.stepMs);
  });

  it("for the largest batch tried, with a remark", async () => {
    const row = await answerWhatIf({ ...twoBatches, device: { name: "huge", memoryBytes: 1e18 } }, "batch=largest");
    expect(row.question).toBe("batch=largest: at least 65536 (search limit)");
  });

  it("for the largest batch whose step has few enough ops, if each sample has its own", async () => {
    const tried: number[] = [];
    const stepAt = async (batch: number): Promise<Trace> => {
      tried.push(batch);
      const step = { size: "full", batch, optimizer: "sgd", grouping: "auto", seed: 0 };
      const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1, step });
      const storage = b.allocate(4 * batch, "cpu", Category.activation);
      const rows = b.tensor({ storage, dtype: "float32", shape: [batch] });
      for (let row = 0; row < 50 * batch; row++) b.op({ name: "Add", inputs: [rows], outputs: [rows] });
      b.free(storage);
      return b.build();
    };
    const trace = priceTrace(await stepAt(16), a100);
    const steps = { name: "rows", framework: "tfjs", stepAt };
    const row = await answerWhatIf({ trace, steps, device: a100, pricedFor: a100 }, "batch=largest");
    expect(row.question).toBe("batch=largest: at least 2000 (search limit)");
    expect(Math.max(...tried)).toBe(2000);
  });
});

it("is what remat compare says of any way to shard", async () => {
  const present = presentOf([plainRun()]);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("world=2", "world=8", "world=16,replicas=2", "world=1"),
      fc.subarray(["no-reshard", "bf16", "offload", "no-wrap"]),
      device,
      async (world, items, spec) => {
        const sharding = [world, ...items].join(",");
        const trace = spec === undefined ? present.trace : priceTrace(present.trace, spec);
        const [, { peakBytes, time }] = compareShardings(
          trace,
          [{ name: sharding, plan: parseShardingPlan(sharding) }],
          { device: spec ?? a100 },
        ).outcomes;
        const row = await answerWhatIf(present, describeWhatIf({ sharding, ...(spec && { device: spec }) }));
        expect([row.peakBytes, row.stepMs]).toEqual([peakBytes, time?.stepMs]);
      },
    ),
    { numRuns: 30 },
  );
});

it("begins with the step as it is, and answers what is usual, refusing each thing once", async () => {
  const rows = [];
  for await (const row of answerUsualWhatIfs(oneRun)) rows.push(row);
  expect(rows[0]).toEqual(presentWhatIf(oneRun));
  expect(rows[0].peakBytes).toBe(heldPeak(oneRun.trace).peakBytes);
  expect(rows[0].stepMs).toBe(stepMs(oneRun.trace) / countSteps(oneRun.trace));
  const refused = rows.filter(({ peakBytes }) => peakBytes === undefined);
  expect(refused.map(({ question }) => question)).toEqual(["batch=largest"]);
  expect(refused[0].answer).toMatch(/recorded only with a batch of 256.*Record the step at another batch as well/);
});

it("asks nothing of ranks of a very large step, of which it would take long", () => {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1, model: "net" });
  const storage = b.allocate(4, "cpu", Category.input);
  const tensor = b.tensor({ storage, dtype: "float32", shape: [1] });
  const ask = () => {
    const trace = b.build();
    return usualWhatIfs({ trace, steps: stepsAtHand([{ name: "net", trace }]), device: a100 });
  };
  b.op({ name: "Relu", phase: Phase.backward, inputs: [tensor], outputs: [tensor] });
  expect(ask()).toContain("world=8");
  for (let op = 0; op < 100_000; op++) b.op({ name: "Relu", inputs: [tensor], outputs: [tensor] });
  expect(ask()).not.toContain("world=8");
  expect(ask()).toContain("device=h100");
});

it("tells no time of another step where that of this one was measured, unless a device is asked for", async () => {
  const { trace } = oneRun;
  const measured: Trace = trace.withRuntimes({
    runtimeMs: trace.ops.runtimeMs,
    runtimeSource: new Uint8Array(trace.ops.count).fill(RuntimeSource.measured),
  });
  const present = { ...oneRun, trace: measured };
  expect(presentWhatIf(present).stepMs).toBe(stepMs(trace) / countSteps(trace));
  expect((await answerWhatIf(present, "optimizer=adamw8bit")).stepMs).toBeUndefined();
  expect((await answerWhatIf(present, "world=8")).stepMs).toBeUndefined();
  expect((await answerWhatIf(present, "optimizer=adamw8bit, device=t4")).stepMs).toBeGreaterThan(0);
});

it("says why two runs are no step at two batches, and answers of the first all the same", async () => {
  const runs = [goldenRun("mem_mlp4_adam"), plainRun()];
  const present = presentOf(runs);
  const refused = await answerWhatIf(present, "batch=99");
  expect(refused.peakBytes).toBeUndefined();
  expect(refused.answer).toContain("not the same step");
  expect((await answerWhatIf(present, "device=h100")).peakBytes).toBe(heldPeak(runs[0].trace).peakBytes);
});

describe("a question", () => {
  it("is read as it is written", () => {
    fc.assert(
      fc.property(
        fc.record(
          {
            batch: fc.oneof(fc.integer({ min: 1, max: 1e6 }), fc.constant("largest" as const)),
            optimizer: fc.constantFrom("adam", "sgd"),
            precision: fc.constantFrom("f32" as const, "bf16" as const),
            device: fc.constantFrom(...devices),
            sharding: fc.constantFrom("world=8", "world=8,wrap='h.*',no-reshard", "wrap='a'+'b'(bf16)"),
          },
          { requiredKeys: [] },
        ),
        (question) => {
          fc.pre(Object.keys(question).length > 0);
          expect(parseWhatIf(describeWhatIf(question))).toEqual(question);
        },
      ),
    );
  });

  it.each([
    ["", "the question is empty"],
    ["batch=0", "expects a number of samples"],
    ["batch=4, batch=8", "batch= is given twice"],
    ["precision=fp8", "expects one of f32, bf16"],
    ["device=abacus", "unknown device"],
    ["word=8", "unknown setting"],
    ["optimizer=adamw8bit, world=8", "bitsandbytes"],
    ["batch=largest, world=8", "remat fit --ranks"],
  ])("that cannot be answered is refused by name: %s", async (text, reason) => {
    const present = text.includes("largest") ? twoBatches : oneRun;
    expect(await answerWhatIf(present, text)).toMatchObject({
      peakBytes: undefined,
      answer: expect.stringContaining(reason),
    });
  });
});
