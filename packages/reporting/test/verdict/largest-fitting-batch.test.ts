import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { largestFittingBatch } from "../../src/ways-to-fit/index.js";

describe("the largest batch that fits", () => {
  it("is found, whatever a batch holds besides what each sample does", async () => {
    const peaks = fc.record({
      fixedBytes: fc.nat(2 ** 30),
      sampleBytes: fc.integer({ min: 1, max: 2 ** 24 }),
      // What comes in one piece for several samples.
      stepBytes: fc.nat(2 ** 20),
      stepSamples: fc.integer({ min: 1, max: 64 }),
    });
    await fc.assert(
      fc.asyncProperty(
        peaks,
        fc.integer({ min: 1, max: 64 }),
        fc.integer({ min: 1, max: 5000 }),
        async (of, samples, most) => {
          const { fixedBytes, sampleBytes, stepBytes, stepSamples } = of;
          const peakOf = (batch: number): number =>
            fixedBytes + sampleBytes * batch + stepBytes * Math.ceil(batch / stepSamples);
          let tried = 0;
          const asked = async (batch: number): Promise<number> => {
            tried++;
            return peakOf(batch);
          };
          const memoryBytes = peakOf(most) + sampleBytes - 1;
          const found = await largestFittingBatch(samples, peakOf(samples), memoryBytes, asked);
          expect(found).toEqual({ batch: most, peakBytes: peakOf(most) });
          expect(tried).toBeLessThanOrEqual(45);
        },
      ),
    );
  });

  it("is none where one sample is too much", async () => {
    expect(await largestFittingBatch(4, 400, 99, async () => 100)).toBeUndefined();
    expect(await largestFittingBatch(1, 100, 99, async () => 0)).toBeUndefined();
  });
});
