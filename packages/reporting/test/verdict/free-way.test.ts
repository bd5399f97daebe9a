import { expect, it } from "vitest";
import { freeWay } from "../../src/verdict/free-way.js";

it("takes what holds least, early release where that needs no plan, and nothing that is not worth it", () => {
  const of = (earlyReleasePeakBytes?: number, unrecomputedPeakBytes?: number) =>
    freeWay({ peakBytes: 1000, earlyReleasePeakBytes, unrecomputedPeakBytes });
  expect(of(500, 400)).toEqual({ kind: "unrecomputed", peakBytes: 400 });
  expect(of(undefined, 400)).toEqual({ kind: "unrecomputed", peakBytes: 400 });
  expect(of(400, 400)).toEqual({ kind: "early-release", peakBytes: 400 });
  expect(of(400)).toEqual({ kind: "early-release", peakBytes: 400 });
  expect(of(1000, 990)).toEqual({ kind: "unrecomputed", peakBytes: 990 });
  expect(of(1000, 991)).toBeUndefined();
  expect(of()).toBeUndefined();
});
