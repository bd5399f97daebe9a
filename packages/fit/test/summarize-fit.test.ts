import { deviceSpec } from "@remat/runtime-estimator";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type FitAnswer, type FitUnit, fitObjectives, summarizeFit } from "../src/index.js";

const answers = fc.array(
  fc.record({
    device: fc.constantFrom("a100", "l4"),
    batch: fc.integer({ min: 1, max: 4 }),
    peakBytes: fc.integer({ min: 1, max: 6 }),
    stepMs: fc.integer({ min: 1, max: 4 }),
  }),
  { minLength: 1, maxLength: 8 },
);

function unitsAndRows(
  rows: readonly { device: string; batch: number; peakBytes: number; stepMs: number }[],
  objective: FitUnit["objective"],
) {
  const units = rows.map(
    ({ device }): FitUnit => ({
      configuration: { device, precision: "f32", way: "stock", ranks: 1 },
      spec: deviceSpec(device),
      memoryBytes: 10,
      batches: [1],
      maxOverhead: 0,
      objective,
      iterations: 1,
      seed: 0,
      morePlans: 0,
      efforts: [],
    }),
  );
  const found = rows.map(
    ({ batch, peakBytes, stepMs }, i): FitAnswer => ({
      kind: "fits",
      row: {
        configuration: units[i].configuration,
        batch,
        peakBytes,
        bytesByCategory: {},
        stepMs,
        overhead: 0,
        memoryBytes: 10,
        microBatches: 1,
        samplesPerSecond: (1000 * batch) / stepMs,
        next: undefined,
      },
    }),
  );
  return { units, found };
}

test("nothing is better than the best, and what is on the front is beaten by nothing in everything", () => {
  fc.assert(
    fc.property(answers, fc.constantFrom(...fitObjectives), (rows, objective) => {
      const { units, found } = unitsAndRows(rows, objective);
      const summary = summarizeFit(units, found, { model: "m", prices: { a100: 4, l4: 1 } });
      const price = { a100: 4, l4: 1 } as Readonly<Record<string, number>>;
      const aims = rows.map(({ device, batch, peakBytes, stepMs }) => ({
        memory: peakBytes,
        throughput: stepMs / batch,
        cost: (stepMs / batch) * price[device],
        batch: -batch,
      }));
      const best = Math.min(...aims.map((aim) => aim[objective]));
      const { best: row } = summary;
      const ofBest = {
        memory: row!.peakBytes,
        throughput: row!.stepMs! / row!.batch,
        cost: (row!.stepMs! / row!.batch) * price[row!.configuration.device],
        batch: -row!.batch,
      };
      expect(ofBest[objective]).toBeCloseTo(best, 9);
      const beaten = aims.map((a) =>
        aims.some(
          (b) =>
            (["memory", "throughput", "cost"] as const).every((aim) => b[aim] <= a[aim] + 1e-12) &&
            (["memory", "throughput", "cost"] as const).some((aim) => b[aim] < a[aim] - 1e-12),
        ),
      );
      expect(summary.rows.filter(({ isOnFront }) => isOnFront)).toHaveLength(beaten.filter((is) => !is).length);
      expect(summary.rows).toHaveLength(rows.length);
    }),
  );
});

test("units without an answer are counted", () => {
  const { units, found } = unitsAndRows(
    [
      { device: "l4", batch: 1, peakBytes: 1, stepMs: 1 },
      { device: "a100", batch: 1, peakBytes: 1, stepMs: 1 },
    ],
    "throughput",
  );
  expect(summarizeFit(units, [found[0], undefined], { model: "m" })).toMatchObject({
    left: 1,
    rows: [{ configuration: { device: "l4" } }],
  });
});
