import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fitSpeed } from "../../src/calibrate/fit-speed.js";
import { kernelMs } from "../../src/calibrated/calibrated-ms.js";

const cacheBytes = 2 ** 20;
const sizes = [64, 4096, 65_536, 2 ** 19, 2 ** 22, 2 ** 24];
const speed = fc.record({
  launchUs: fc.double({ min: 1, max: 500, noNaN: true }),
  memoryGBps: fc.double({ min: 0.1, max: 200, noNaN: true }),
  beyondCacheGBps: fc.double({ min: 0.1, max: 50, noNaN: true }),
  tflops: fc.double({ min: 0.001, max: 1, noNaN: true }),
});
/** Calls of every size, with few and with many FLOPs per byte. */
const costs = sizes.flatMap((bytes) =>
  [0.01, 1, 100].map((intensity) => ({ flops: intensity * bytes, bytesRead: bytes / 2, bytesWritten: bytes / 2 })),
);

describe("a speed fitted to times", () => {
  test("predicts them exactly if they follow the model", () => {
    fc.assert(
      fc.property(speed, (rates) => {
        const calls = costs.map((cost) => ({ ...cost, ms: kernelMs(rates, cost, cacheBytes) }));
        const fitted = fitSpeed(calls, cacheBytes)!;
        // Rounding of the normal equations: 3e-7 was found.
        for (const call of calls) expect(kernelMs(fitted, call, cacheBytes) / call.ms).toBeCloseTo(1, 5);
        expect(fitted.error).toBeLessThan(1e-5);
        expect(fitted.calls).toBe(costs.length);
      }),
    );
  });

  test("finds the parameters themselves where each decides some of the times", () => {
    const rates = { launchUs: 20, memoryGBps: 10, beyondCacheGBps: 4, tflops: 0.05 };
    const calls = costs.map((cost) => ({ ...cost, ms: kernelMs(rates, cost, cacheBytes) }));
    const { error: _, calls: __, ...found } = fitSpeed(calls, cacheBytes)!;
    for (const [name, value] of Object.entries(rates))
      expect(found[name as keyof typeof rates]! / value).toBeCloseTo(1, 6);
  });

  test("is unbiased: with noise, the predictions add up to the times of small and of large calls", () => {
    const rates = { launchUs: 20, memoryGBps: 10, beyondCacheGBps: 4, tflops: 0.05 };
    const noise = [0.5, 1.5];
    const calls = costs.flatMap((cost) => noise.map((by) => ({ ...cost, ms: by * kernelMs(rates, cost, cacheBytes) })));
    const fitted = fitSpeed(calls, cacheBytes)!;
    // Weights by the measured times would give 0.8.
    for (const cost of costs)
      expect(kernelMs(fitted, cost, cacheBytes) / kernelMs(rates, cost, cacheBytes)).toBeCloseTo(1, 5);
    // 0.5 for the fit to all calls. Fits to nine of ten are further off: 0.75 was found.
    expect(fitted.error).toBeGreaterThan(0.5);
    expect(fitted.error).toBeLessThan(1);
  });

  test("leaves out rates that add no time", () => {
    const calls = costs.map((cost) => ({ ...cost, ms: 0.02 }));
    expect(Object.keys(fitSpeed(calls, cacheBytes)!)).toEqual(["launchUs", "error", "calls"]);
  });

  test("needs three calls", () => {
    expect(
      fitSpeed(
        costs.slice(0, 2).map((cost) => ({ ...cost, ms: 1 })),
        cacheBytes,
      ),
    ).toBeUndefined();
  });
});
