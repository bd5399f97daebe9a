import { memoryTimeline, peakMoment, tellsLifetimes } from "@remat/memory";
import { MemTracker } from "@remat/memory/tracker";
import { readPyTorchTrace } from "@remat/pytorch";
import { deviceSpec, priceTrace, stepMs } from "@remat/runtime-estimator";
import { greedyOrder, sacStats, tradeOff } from "@remat/sac-core";
import { goldenFiles, readGolden } from "@remat/testkit";
import type { Trace } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  categoryBands,
  greedyPolicy,
  type MemoryBands,
  moduleBands,
  OpFate,
  opStartMs,
  policyOf,
  sampleBands,
  viewEnvironment,
  viewSummary,
  viewTradeOff,
} from "../src/index.js";

function goldenTrace(name: string): Trace {
  const file = goldenFiles().find((golden) => golden.name === name);
  if (file === undefined) throw new Error(`no golden file ${name}`);
  return priceTrace(readPyTorchTrace(readGolden(file)), deviceSpec("a100"));
}

const adam = goldenTrace("mem_02_transformer_adam");
const mlp = goldenTrace("mem_03_mlp_adam");
const fsdp = goldenTrace("fsdp_tf_ws4_reshard1");
const sac = goldenTrace("sac_02_transformer");
const traces = { adam, mlp, fsdp };

/** Readable, and the same on every machine: nine digits. */
const snapshot = (value: unknown): string =>
  `${JSON.stringify(
    value,
    (_key, item: unknown) =>
      typeof item === "number"
        ? Number(item.toPrecision(9))
        : ArrayBuffer.isView(item)
          ? Array.from(item as Float64Array)
          : item,
    1,
  ).replace(/\[\s+([^[\]{}]*?)\s+\]/gs, (_all, inner: string) => `[${inner.replace(/\s+/g, " ")}]`)}\n`;

describe.each(Object.keys(traces) as (keyof typeof traces)[])("memory of %s", (name) => {
  const trace = traces[name];
  const timeline = memoryTimeline(trace);
  const peak = Math.max(...timeline.highestBytes);

  const addsUp = (bands: MemoryBands): void => {
    for (let op = 0; op < bands.count; op++)
      expect(
        bands.bands.reduce((sum, band) => sum + band.bytes[op], 0),
        `op ${op}`,
      ).toBe(timeline.totalBytes[op]);
  };

  it("adds up by category and by module", () => {
    addsUp(categoryBands(timeline));
    addsUp(moduleBands(trace, timeline));
    addsUp(moduleBands(trace, timeline, { limit: 2 }));
    addsUp(moduleBands(trace, timeline, { within: trace.modules[0].fqn, limit: 100 }));
  });

  it("is highest where the tracker says so, with the same storages", () => {
    const tracker = new MemTracker({ secondIteration: "reset" }).update(trace);
    const moment = peakMoment(trace, { limit: 20 });
    expect(moment.totalBytes).toBe(peak);
    expect(moment.bytesByCategory).toEqual(tracker.peakMoment({ limit: 20 }).bytesByCategory);
    expect(moment.largest.map(({ bytes }) => bytes)).toEqual(
      tracker.peakMoment({ limit: 20 }).largest.map(({ bytes }) => bytes),
    );
  });

  it("keeps every peak in a sample, over ops and over time", () => {
    const bands = categoryBands(timeline);
    const startMs = opStartMs(trace.ops.runtimeMs);
    fc.assert(
      fc.property(
        fc.nat(timeline.count - 1),
        fc.integer({ min: 1, max: timeline.count }),
        fc.integer({ min: 1, max: 300 }),
        fc.boolean(),
        (from, length, buckets, byTime) => {
          const to = Math.min(timeline.count, from + length);
          const sample = sampleBands(bands, { from, to, buckets, ...(byTime && { startMs }) });
          expect(sample.count).toBeLessThanOrEqual(buckets);
          expect(Math.max(...sample.highestBytes)).toBe(Math.max(...timeline.highestBytes.subarray(from, to)));
          for (let i = 0; i < sample.count; i++) {
            expect(sample.op[i]).toBeGreaterThanOrEqual(from);
            expect(sample.op[i]).toBeLessThan(to);
            if (i > 0) expect(sample.op[i]).toBeGreaterThanOrEqual(sample.op[i - 1]);
            expect(sample.totalBytes[i]).toBe(timeline.totalBytes[sample.op[i]]);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it("matches its snapshot", async () => {
    const bands = categoryBands(timeline);
    const byModule = moduleBands(trace, timeline, { limit: 4 });
    const named = (of: MemoryBands) => {
      const sample = sampleBands(of, { buckets: 12 });
      return {
        op: sample.op,
        highestBytes: sample.highestBytes,
        within: of.within,
        bands: Object.fromEntries(of.bands.map(({ key }, i) => [key, sample.bands[i]])),
      };
    };
    await expect(
      snapshot({ summary: viewSummary(trace), byCategory: named(bands), byModule: named(byModule) }),
    ).toMatchFileSnapshot(`snapshots/${name}.memory.json`);
  });
});

describe("a trade-off", () => {
  const stats = sacStats(sac).get("Transformer.layers.0")!;
  const order = greedyOrder(stats);
  const curve = tradeOff(stats, order);

  it("matches its snapshot", async () => {
    await expect(snapshot(viewTradeOff(curve))).toMatchFileSnapshot("snapshots/transformer-layer.trade-off.json");
  });

  it("begins at 0, ends at 1, and its pieces meet", () => {
    const { points, pieces, shifted } = viewTradeOff(curve);
    expect(points[0][0]).toBeCloseTo(0, 12);
    expect(points[points.length - 1]).toEqual([expect.closeTo(1, 9), expect.closeTo(1, 9)]);
    expect(shifted).toHaveLength(points.length - 1);
    expect(pieces[0].to[1]).toBeCloseTo(pieces[1].from[1], 9);
    const thinned = viewTradeOff(curve, 5).points;
    expect(thinned).toHaveLength(5);
    for (const point of thinned) expect(points).toContainEqual(point);
  });

  it("frees no more than a budget asks for, and costs more the less there is", () => {
    const total = stats.memoryBytes.reduce((a, b) => a + b, 0);
    let dearest = 0;
    for (let percent = 100; percent >= 0; percent -= 5) {
      const policy = greedyPolicy(stats, order, (total * percent) / 100);
      expect(policy.fits).toBe(policy.storedBytes <= policy.budgetBytes);
      expect(policy.recomputationMs).toBeGreaterThanOrEqual(dearest);
      dearest = policy.recomputationMs;
      const ops = policy.totals.reduce((sum, each) => sum + each.ops, 0);
      expect(ops).toBe(stats.ops.length);
      const again = policyOf(
        stats,
        order,
        policy.budgetBytes,
        policy.fate.map((fate) => (fate === OpFate.stored || fate === OpFate.alwaysStored ? 1 : 0)),
      );
      expect(again).toEqual(policy);
    }
    // With everything kept, only what is always recomputed costs time, and it is the curve's first point.
    const all = greedyPolicy(stats, order, total);
    const viewMs = stats.viewLikeOps.reduce((sum, op) => sum + stats.runtimesMs[op], 0);
    expect(all.recomputationMs).toBeCloseTo(viewMs, 12);
  });
});

describe("a run without lifetimes", () => {
  it("has a summary all the same", () => {
    const summary = viewSummary(sac);
    const { peak, recomputeFirst } = summary;
    // To the last bit: one sum for every view and plan.
    expect(summary.stepMs).toBe(stepMs(sac));
    expect(tellsLifetimes(sac)).toBe(false);
    expect(peak).toBeUndefined();
    expect(recomputeFirst).toHaveLength(5);
    expect(summary.stepMs).toBeGreaterThan(0);
  });
});

it("tells how every number was obtained", async () => {
  const truncated = {
    ...mlp,
    header: { ...mlp.header, notes: ["a note"], libraries: { torch: "2.13" } },
    truncated: { line: 7, reason: "the file ends" },
  };
  const groups = viewEnvironment(Object.assign(Object.create(Object.getPrototypeOf(mlp)), truncated), {
    pricedFor: deviceSpec("a100"),
    source: "mlp.json",
    madeBy: "remat 1.0.0",
    planning: "5 s",
  });
  await expect(snapshot(groups)).toMatchFileSnapshot("snapshots/environment.json");
});
