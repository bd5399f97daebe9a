import { describe, expect, it } from "vitest";
import { estimateLine, type Stratum } from "../src/line-estimate.js";

const logFactorials = [0];
for (let n = 1; n <= 5000; n++) logFactorials.push(logFactorials[n - 1] + Math.log(n));
const logChoose = (n: number, k: number): number => logFactorials[n] - logFactorials[k] - logFactorials[n - k];

/** How probable it is that the interval contains the truth, by all samples that there can be. */
function coverageOf(total: number, sampled: number, ofLine: number): number {
  let sum = 0;
  for (let x = Math.max(0, sampled - (total - ofLine)); x <= Math.min(sampled, ofLine); x++) {
    const { low, high } = estimateLine([{ total, sampled, ofLine: x }]);
    const logProbability = logChoose(ofLine, x) + logChoose(total - ofLine, sampled - x) - logChoose(total, sampled);
    if (low <= ofLine && ofLine <= high) sum += Math.exp(logProbability);
  }
  return sum;
}

describe("estimateLine", () => {
  it.each([2, 3, 5, 10, 20, 50, 100, 300, 1000, 5000])(
    "has an interval that contains the truth in 95% of all samples of %i tensors",
    (total) => {
      const shares = Array.from({ length: 61 }, (_, i) => (i / 60) ** 2);
      for (const sampled of [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100, 200].filter((n) => n < total))
        for (const ofLine of new Set(shares.map((share) => Math.round(share * total))))
          expect(coverageOf(total, sampled, ofLine), `${ofLine} by ${sampled}`).toBeGreaterThanOrEqual(0.95);
    },
  );

  it.each<[what: string, strata: readonly (readonly [total: number, oneIn: number])[]]>([
    ["many small samples", Array.from({ length: 30 }, () => [64, 64] as const)],
    [
      "all of some and few of others",
      [
        [4000, 1],
        [800, 2],
        [800, 8],
        [3000, 64],
      ],
    ],
    [
      "few of the last alone",
      [
        [10_000, 1],
        [200, 64],
      ],
    ],
    ["ever fewer", [2, 4, 8, 16, 32, 64, 128, 256].map((oneIn) => [500, oneIn] as const)],
  ])("has one that contains it in 95% of random samples: %s", (_, parts) => {
    let state = 0x9e3779b9;
    const random = (): number => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 0) / 2 ** 32;
    };
    const draw = (total: number, oneIn: number, share: number): Stratum => {
      const made = Math.round(share * total);
      const stratum = { total, sampled: 0, ofLine: 0 };
      for (let i = 0; i < total; i++) {
        if (oneIn > 1 && random() >= 1 / oneIn) continue;
        stratum.sampled++;
        if (i < made) stratum.ofLine++;
      }
      return stratum;
    };
    for (const shareOf of [() => 0.02, () => 0.2, () => 0.5, () => 0.9, (at: number) => (at < 0.5 ? 0 : 0.5)]) {
      const shares = parts.map((__, i) => shareOf(i / parts.length));
      const truth = parts.reduce((sum, [total], i) => sum + Math.round(shares[i] * total), 0);
      let hits = 0;
      const runs = 500;
      for (let run = 0; run < runs; run++) {
        const { low, high } = estimateLine(parts.map(([total, oneIn], i) => draw(total, oneIn, shares[i])));
        if (low <= truth && truth <= high) hits++;
      }
      expect(hits / runs, `${shares}`).toBeGreaterThanOrEqual(0.95);
    }
  });

  it("is exact if all stacks were taken", () => {
    expect(estimateLine([{ total: 40, sampled: 40, ofLine: 13 }])).toEqual({ count: 13, low: 13, high: 13, of: 40 });
  });

  it("stays between what was seen of the line and what was not seen of others", () => {
    const { low, high } = estimateLine([{ total: 40, sampled: 10, ofLine: 3 }]);
    expect(low).toBeGreaterThanOrEqual(3);
    expect(high).toBeLessThanOrEqual(33);
    expect(estimateLine([{ total: 40, sampled: 10, ofLine: 10 }])).toMatchObject({ count: 40, high: 40 });
    expect(estimateLine([{ total: 40, sampled: 10, ofLine: 0 }])).toMatchObject({ count: 0, low: 0 });
  });

  it("assumes nothing of tensors of which no stack was taken", () => {
    const strata = [
      { total: 10, sampled: 10, ofLine: 4 },
      { total: 100, sampled: 0, ofLine: 0 },
    ];
    expect(estimateLine(strata)).toEqual({ count: 4, low: 4, high: 104, of: 110 });
  });
});
