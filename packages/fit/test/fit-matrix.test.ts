import { deviceSpec } from "@remat/runtime-estimator";
import { checkedShare } from "@remat/testkit/checked-share";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type FitDimension,
  type FitSummary,
  fitMatrix,
  pruneFit,
  stepsOfRuns,
  summarizeFit,
  unitsOf,
  valueOf,
} from "../src/index.js";
import { fitDimensions } from "../src/matrix/fit-matrix.js";
import { plainRun } from "./steps.js";

const steps = stepsOfRuns([plainRun()]);
const units = unitsOf(
  {
    devices: [deviceSpec("a100"), deviceSpec("l4")],
    precisions: ["f32", "bf16"],
    ranks: [1, 2, 16],
    wraps: [undefined, []],
    ways: ["stock", "recompute", "offload"],
  },
  steps,
);
const prices = { a100: 4, l4: 1 };

/** Whatever may have become of units: no more than what a table is made of. */
const outcomes = fc
  .array(
    fc.record({
      kind: fc.constantFrom("fits" as const, "not-fitting" as const, "refused" as const, undefined),
      peakBytes: fc.integer({ min: 1, max: 9 }),
      rate: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
    }),
    { minLength: units.length, maxLength: units.length },
  )
  .map((given) =>
    answersFor(
      units.map((_, i) => i),
      given,
    ),
  );

type Given = {
  readonly kind: "fits" | "not-fitting" | "refused" | undefined;
  readonly peakBytes: number;
  readonly rate: number | undefined;
};

function answersFor(places: readonly number[], given: readonly Given[]) {
  return places.map((i) => {
    const { configuration } = units[i];
    const { kind, peakBytes, rate } = given[i];
    if (kind === undefined) return undefined;
    if (kind === "refused") return { kind, configuration, reason: "no" };
    if (kind === "not-fitting")
      return {
        kind,
        configuration,
        smallest: { batch: 1, peakBytes, binds: "activation" as const, bindsBytes: 1, isProven: true },
      };
    const step = { batch: 4, peakBytes, bytesByCategory: {}, stepMs: undefined, overhead: 0 };
    const row = { ...step, configuration, memoryBytes: 10, microBatches: 1, samplesPerSecond: rate, next: undefined };
    return { kind, row };
  });
}

const values = fc
  .array(fc.tuple(fc.constantFrom(...fitDimensions), fc.nat({ max: units.length - 1 })), { maxLength: 4 })
  .map((all) => all.map(([dimension, at]) => ({ dimension, value: valueOf(units[at].configuration, dimension) })));

test("the rest equals the result of a search without the excluded values", () => {
  fc.assert(
    fc.property(outcomes, values, (answers, pruned) => {
      const stays = units.map(({ configuration }) =>
        pruned.every(({ dimension, value }) => valueOf(configuration, dimension) !== value),
      );
      const kept = units.filter((_, i) => stays[i]);
      fc.pre(kept.length > 0);
      const found = pruneFit(summarizeFit(units, answers, { model: "m", prices }), pruned);
      const alone = summarizeFit(
        kept,
        answers.filter((_, i) => stays[i]),
        { model: "m", prices },
      );
      expect({ ...found, left: 0 }).toEqual({ ...alone, left: 0 });
    }),
  );
});

test("each answer is in the matrix once, beside those that differ from it by the way alone", () => {
  const given = checkedShare();
  fc.assert(
    fc.property(outcomes, (answers) => {
      const summary: FitSummary = summarizeFit(units, answers, { model: "m", prices });
      const { ways, rows, values: several } = fitMatrix(summary);
      const cells = rows.flatMap(({ cells: of }) => of.map((cell, column) => ({ cell, way: ways[column], of })));
      const told = cells.flatMap(({ cell }) => (cell === undefined ? [] : [cell.configuration]));
      expect(new Set(told)).toEqual(
        new Set([...summary.rows, ...summary.notFitting, ...summary.refused].map(({ configuration }) => configuration)),
      );
      expect(told).toHaveLength(answers.filter((answer) => answer !== undefined).length);
      const others = fitDimensions.filter((dimension) => dimension !== "way");
      for (const { cell, way, of } of cells) {
        if (!given(cell)) continue;
        expect(cell.configuration.way).toBe(way);
        const beside = of.find((each) => each !== undefined)!.configuration;
        expect(others.map((each: FitDimension) => valueOf(cell.configuration, each))).toEqual(
          others.map((each) => valueOf(beside, each)),
        );
      }
      expect(cells.filter(({ cell }) => cell?.kind === "fits" && cell.isBest)).toHaveLength(
        summary.best === undefined ? 0 : 1,
      );
      for (const each of several) expect(each.values.length).toBeGreaterThan(1);
    }),
  );
});
