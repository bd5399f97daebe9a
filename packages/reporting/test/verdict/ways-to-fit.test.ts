import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { heldPeak } from "@remat/memory";
import { StepFacts } from "@remat/memory/sequence";
import type * as Planner from "@remat/planner";
import { planCheckpointing } from "@remat/planner";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { type ShardingPlan, simulateFsdp } from "@remat/sharding";
import { goldenFiles, readGolden } from "@remat/testkit";
import { checkedShare } from "@remat/testkit/checked-share";
import { type Trace, TraceBuilder } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { describeWay } from "../../src/verdict/way-to-fit.js";
import { largestBatch } from "../../src/ways-to-fit/largest-batch.js";
import { leastHeld } from "../../src/ways-to-fit/least-held.js";
import { waysToFit } from "../../src/ways-to-fit/ways-to-fit.js";

vi.mock("@remat/planner", async (importOriginal) => {
  const planner = await importOriginal<typeof Planner>();
  return { ...planner, planCheckpointing: vi.fn(planner.planCheckpointing) };
});

const golden = goldenFiles().find(({ name }) => name === "mem_02_transformer_adam")!;
const trace = priceTrace(readPyTorchTrace(readGolden(golden)), deviceSpec("a100"));
const { peakBytes } = heldPeak(trace);
/** As recorded, with what autograd saves. */
const recorded = priceTrace(
  readPyTorchTrace(
    JSON.parse(
      gunzipSync(readFileSync(new URL("../../../sharding/test/fixtures/plain-tf.json.gz", import.meta.url))).toString(),
    ),
  ),
  deviceSpec("a100"),
);

describe("ways to fit", () => {
  it("are none of what fits", async () => {
    expect(await waysToFit(trace, { memoryBytes: peakBytes })).toEqual([]);
  });

  it("fit, each as what it names says", async () => {
    const memoryBytes = Math.floor(0.92 * peakBytes);
    const ways = await waysToFit(trace, {
      memoryBytes,
      batch: { samples: 4, peakOf: async (samples) => (peakBytes * samples) / 4 },
    });
    expect(ways.map(({ kind }) => kind)).toEqual(["plan", "batch", "sharding", "device"]);
    for (const way of ways) {
      if (way.kind === "device") {
        expect(way).toMatchObject({ peakBytes });
        expect(way.memoryBytes).toBeGreaterThanOrEqual(peakBytes);
        continue;
      }
      expect(way.peakBytes).toBeLessThanOrEqual(memoryBytes);
      if (way.kind === "plan") {
        const { point } = await planCheckpointing(trace, { budgetBytes: memoryBytes, iterations: 200, boundTimeMs: 0 });
        expect(way).toMatchObject({ peakBytes: point!.peakBytes, overhead: point!.overhead });
      }
      if (way.kind === "batch") expect(way).toMatchObject({ batch: 3, peakBytes: 0.75 * peakBytes });
      if (way.kind === "sharding") {
        expect(way.wrap).toEqual(["layers.*"]);
        const rank = (worldSize: number) =>
          heldPeak(simulateFsdp(trace, { worldSize, wrap: way.wrap }).trace).peakBytes;
        expect(rank(way.worldSize)).toBe(way.peakBytes);
        if (way.worldSize > 2) expect(rank(way.worldSize / 2)).toBeGreaterThan(memoryBytes);
      }
    }
  });

  it("take plans of another step where plans are made of that", async () => {
    const memoryBytes = Math.floor(0.92 * peakBytes);
    const quick = priceTrace(trace, deviceSpec("h100"));
    const found = async (planned?: Trace) =>
      (await waysToFit(new StepFacts(trace, { planned }), { memoryBytes })).find(({ kind }) => kind === "plan");
    const { point } = await planCheckpointing(quick, { budgetBytes: memoryBytes, iterations: 200, boundTimeMs: 0 });
    expect(await found(quick)).toMatchObject({ overhead: point!.overhead });
    expect(await found()).not.toEqual(await found(quick));
  });

  it("are but a larger device where no plan, batch or rank has room for one op", async () => {
    const ways = await waysToFit(trace, { memoryBytes: 1000, batch: { samples: 8, peakOf: async () => 1001 } });
    expect(ways.map(({ kind }) => kind)).toEqual(["device"]);
  });

  it("are found without a search for a plan where every plan needs more", async () => {
    const { bytes } = leastHeld(trace)!;
    const searches = async (memoryBytes: number) => {
      vi.mocked(planCheckpointing).mockClear();
      await waysToFit(trace, { memoryBytes });
      return vi.mocked(planCheckpointing).mock.calls.length;
    };
    expect(await searches(bytes - 1)).toBe(0);
    expect(await searches(bytes)).toBe(1);
  });

  it("are ranks that checkpoint what they wrap, where no number of them fits without", async () => {
    const on = (plan: Omit<ShardingPlan, "wrap">) =>
      heldPeak(simulateFsdp(recorded, { ...plan, wrap: ["layers.*"] }).trace).peakBytes;
    const checkpoint = [{ modules: ["layers.*"] }];
    const memoryBytes = on({ worldSize: 1024 }) - 1;
    const ways = await waysToFit(recorded, { memoryBytes });
    const way = ways.find((each) => each.kind === "sharding");
    if (way === undefined) throw new Error("expected ranks");
    expect(way).toMatchObject({ wrap: ["layers.*"], checkpoint: ["layers.*"] });
    expect(way.peakBytes).toBe(on({ worldSize: way.worldSize, checkpoint }));
    expect(way.peakBytes).toBeLessThanOrEqual(memoryBytes);
    expect(describeWay(way)).toMatch(/^with FSDP over \d+ ranks and layers\.\* checkpointed \(.* each\)$/);
  });
});

describe("the memory that no plan can avoid", () => {
  const { bytes, ranks } = leastHeld(recorded)!;

  it("is a budget below which none is found, and is proven not to be", async () => {
    const budgetBytes = bytes - 1;
    const { point, infeasible } = await planCheckpointing(recorded, { budgetBytes, iterations: 200, boundTimeMs: 0 });
    expect(point).toBeUndefined();
    expect(infeasible).toMatchObject({ isProven: true });
  });

  it("is less on each of many ranks, and no more than they hold without a plan", () => {
    const rank = simulateFsdp(recorded, { worldSize: ranks!.worldSize }).trace;
    expect(ranks!.bytes).toBeLessThan(bytes);
    expect(ranks!.bytes).toBeLessThanOrEqual(heldPeak(rank).peakBytes);
  });

  it("is not known of what has no backward pass", () => {
    const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
    b.op({ name: "Relu", outputs: [b.tensor({ storage: b.allocate(4), dtype: "float32", shape: [1] })] });
    expect(leastHeld(b.build())).toBeUndefined();
  });
});

it("finds a batch that fits, next to one that does not where peaks grow evenly", async () => {
  const given = checkedShare();
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 1e6 }),
      fc.integer({ min: 1, max: 1e6 }),
      fc.integer({ min: 2, max: 4096 }),
      fc.double({ min: 0.01, max: 0.99, noNaN: true }),
      async (fixed, each, samples, share) => {
        const peakOf = (batch: number) => fixed + each * batch;
        const memoryBytes = Math.floor(share * peakOf(samples));
        const found = await largestBatch(samples, peakOf(samples), memoryBytes, async (batch) => peakOf(batch));
        if (!given(peakOf(1) <= memoryBytes)) {
          expect(found).toBeUndefined();
          return;
        }
        if (found?.kind !== "batch") throw new Error("no batch");
        expect(found.peakBytes).toBe(peakOf(found.batch));
        expect(found.peakBytes).toBeLessThanOrEqual(memoryBytes);
        expect(peakOf(found.batch + 1)).toBeGreaterThan(memoryBytes);
      },
    ),
  );
});
