import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { largestFittingBatch } from "../../src/ways-to-fit/index.js";

describe("the largest batch that fits", () => {
  it("is found, whatever a batch holds besides what each sample does", async () => {
    const peaks = fc.record({
      fixedBytes: fc.nat(2 ** 30),
      sampleBytes: fc.integer({ min: 1, max: 2 ** 24 }),
      // Memory that is allocated in one piece for several samples.
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

  it("is one of those that may be taken", async () => {
    const given = fc.record({
      batches: fc.uniqueArray(fc.integer({ min: 1, max: 600 }), { minLength: 1, maxLength: 40 }),
      fixedBytes: fc.nat(1000),
      sampleBytes: fc.nat(20),
      jumpBytes: fc.nat(500),
      memoryBytes: fc.integer({ min: 1, max: 12_000 }),
    });
    await fc.assert(
      fc.asyncProperty(given, async ({ batches, fixedBytes, sampleBytes, jumpBytes, memoryBytes }) => {
        const sorted = batches.sort((a, b) => a - b);
        const peakOf = (batch: number): number => fixedBytes + sampleBytes * batch + jumpBytes * (batch >> 6);
        const [smallest] = sorted;
        const ask = async (batch: number): Promise<number> => {
          expect(sorted).toContain(batch);
          return peakOf(batch);
        };
        const best = sorted.findLast((batch) => peakOf(batch) <= memoryBytes);
        const found = await largestFittingBatch(smallest, peakOf(smallest), memoryBytes, ask, { batches: sorted });
        expect(found).toEqual(best === undefined ? undefined : { batch: best, peakBytes: peakOf(best) });
      }),
    );
  });

  it("is found beyond a million samples, and is a limit of the search only if nothing larger was too much", async () => {
    const peaks = fc.record({ fixedBytes: fc.nat(2 ** 30), sampleBytes: fc.integer({ min: 0, max: 64 }) });
    const memory = fc.integer({ min: 2 ** 30, max: 80 * 2 ** 30 });
    await fc.assert(
      fc.asyncProperty(peaks, memory, async ({ fixedBytes, sampleBytes }, memoryBytes) => {
        const peakOf = (batch: number): number => fixedBytes + sampleBytes * batch;
        const found = await largestFittingBatch(1, peakOf(1), memoryBytes, async (batch) => peakOf(batch));
        fc.pre(peakOf(1) <= memoryBytes);
        const limit = 2 ** 31 - 1;
        const exact = Math.floor((memoryBytes - fixedBytes) / sampleBytes);
        expect(found).toEqual(
          sampleBytes > 0 && exact < limit
            ? { batch: exact, peakBytes: peakOf(exact) }
            : { batch: limit, peakBytes: peakOf(limit), isSearchLimit: true },
        );
      }),
    );
  });

  it("ends where a step cannot be traced any more, and says that this is a limit of the search", async () => {
    const ask = async (batch: number): Promise<number> => 10 + new ArrayBuffer(batch < 5000 ? 8 : 2 ** 53).byteLength;
    expect(await largestFittingBatch(1, 18, 1000, ask)).toEqual({ batch: 4999, peakBytes: 18, isSearchLimit: true });
    const fail = () => Promise.reject(new Error("a wrong model"));
    await expect(largestFittingBatch(1, 18, 1000, fail)).rejects.toThrow("a wrong model");
  });

  it("is none where one sample is too much", async () => {
    expect(await largestFittingBatch(4, 400, 99, async () => 100)).toBeUndefined();
    expect(await largestFittingBatch(1, 100, 99, async () => 0)).toBeUndefined();
  });
});
