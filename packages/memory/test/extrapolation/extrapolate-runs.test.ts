import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { heldPeak } from "@remat/memory";
import {
  type Extrapolation,
  extrapolateRuns,
  heldByGrowth,
  largestSize,
  type SizedRun,
} from "@remat/memory/extrapolation";
import { readPyTorchTrace } from "@remat/pytorch";
import { Category, type Trace, TraceBuilder } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { fitPolynomial, isSizeOfTensor, valueAt } from "../../src/extrapolation/fit-polynomial.js";

const fixture = new URL("../fixtures/sized-runs.json.gz", import.meta.url);
const { cases } = JSON.parse(gunzipSync(readFileSync(fixture)).toString()) as {
  readonly cases: Readonly<Record<string, readonly { readonly size: number; readonly file: unknown }[]>>;
};
interface Recorded extends SizedRun {
  readonly size: number;
}
const recorded = (name: string): readonly Recorded[] =>
  cases[name].map(({ size, file }) => ({ name: `${name}-${size}`, size, trace: readPyTorchTrace(file) }));

/** Bytes of each storage, and each tensor's shape. */
const sizesOf = ({ storages, events }: Trace): unknown => [[...storages.bytes], [...events.value]];

function expectRecorded({ traceAt, peakAt }: Extrapolation, { size, trace }: Recorded): void {
  expect(sizesOf(traceAt(size))).toEqual(sizesOf(trace));
  const { peakBytes, op, bytesByCategory } = heldPeak(trace);
  expect(peakAt(size)).toMatchObject({ peakBytes, op, bytesByCategory });
}

describe("runs of PyTorch", () => {
  test.each([
    ["attention", 2],
    ["fused_attention", 1],
    ["convolutions", 2],
    ["lstm_length", 1],
  ] as const)("%s: three lengths tell a fourth to the byte, with every category", (name, degree) => {
    const runs = recorded(name);
    const extrapolation = extrapolateRuns(runs.slice(0, 3));
    expect(extrapolation.irregular).toEqual([]);
    expect(extrapolation.varying.sizes).toEqual(runs.slice(0, 3).map(({ size }) => size));
    for (const run of runs) expectRecorded(extrapolation, run);
    expect(Math.max(...extrapolation.degrees)).toBe(degree);
  });

  test.each(["lstm_batch", "convolutions_batch"])("%s: two batches tell a third to the byte", (name) => {
    const runs = recorded(name);
    const extrapolation = extrapolateRuns(runs.slice(0, 2));
    for (const run of runs) expectRecorded(extrapolation, run);
    expect(Math.max(...extrapolation.degrees)).toBe(1);
  });

  test("a fourth run is compared with what is predicted of it", () => {
    const runs = recorded("attention");
    const { checked } = extrapolateRuns(runs);
    expect(checked).toHaveLength(1);
    expect(checked[0].predictedBytes).toBe(checked[0].recordedBytes);
  });

  test("the order of the runs does not matter, nor does where their size is told", () => {
    const runs = recorded("attention").slice(0, 3);
    const peaks = (extrapolation: Extrapolation) => [100, 1000].map((size) => extrapolation.peakAt(size).peakBytes);
    expect(peaks(extrapolateRuns(runs.toReversed()))).toEqual(peaks(extrapolateRuns(runs)));
    expect(
      peaks(
        extrapolateRuns(
          runs,
          runs.map(({ size }) => size),
        ),
      ),
    ).toEqual(peaks(extrapolateRuns(runs)));
  });

  test("the parts of a peak are reported by growth, and add up", () => {
    const extrapolation = extrapolateRuns(recorded("attention").slice(0, 3));
    const peak = extrapolation.peakAt(4096);
    const bytes = heldByGrowth(extrapolation.traceAt(4096), peak, extrapolation.degrees);
    expect(bytes[0] + bytes[1] + bytes[2]).toBe(peak.peakBytes);
    expect(bytes[2]).toBeGreaterThan(0.9 * peak.peakBytes);
  });

  test("the largest that fits fits, and the next does not", () => {
    const { peakAt } = extrapolateRuns(recorded("attention").slice(0, 3));
    for (const memoryBytes of [2 ** 20, 2 ** 30, 80 * 2 ** 30]) {
      const found = largestSize(peakAt, memoryBytes, 128);
      expect(found?.peak.peakBytes).toBeLessThanOrEqual(memoryBytes);
      expect(peakAt((found?.size ?? 0) + 1).peakBytes).toBeGreaterThan(memoryBytes);
    }
    expect(largestSize(peakAt, 100, 128)).toBeUndefined();
  });

  test("the largest that fits is a limit of the search if nothing larger was too much", () => {
    const peak = heldPeak(recorded("attention")[0].trace);
    for (const sampleBytes of [0, 1, 30, 31, 32, 33, 64]) {
      const memoryBytes = 64 * 2 ** 30;
      const found = largestSize((size) => ({ ...peak, peakBytes: sampleBytes * size }), memoryBytes, 3);
      const exact = Math.floor(memoryBytes / sampleBytes);
      const limit = 2 ** 31 - 1;
      expect([found?.size, found?.isSearchLimit]).toEqual(exact < limit ? [exact, undefined] : [limit, true]);
    }
  });
});

describe("rejected input", () => {
  const refusal = (runs: readonly SizedRun[], sizes?: readonly number[]) => {
    try {
      extrapolateRuns(runs, sizes);
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      return { code, message };
    }
    return undefined;
  };

  test("kernels that change with the length, by name and line", () => {
    const { code, message } = refusal(recorded("switching")) ?? {};
    expect(code).toBe("RUNS_DIFFER");
    expect(message).toMatch(/switching-32 and switching-64 .*op \d+ is aten\.\S+ \(forward, .*length_cases\.py:\d+\)/);
  });

  test("ops of which there are more in a longer run", () => {
    expect(refusal(recorded("unrolled"))).toMatchObject({ code: "RUNS_DIFFER" });
  });

  test("data-dependent sizes", () => {
    expect(refusal(recorded("experts"))?.code).toBe("RUNS_IRREGULAR");
  });

  test("two lengths where attention grows as a square", () => {
    const { code, message } = refusal(recorded("attention").slice(1, 3)) ?? {};
    expect(code).toBe("RUNS_IRREGULAR");
    expect(message).toMatch(/third size/);
  });

  test("one run, twice the same size, sizes that are too few", () => {
    const [a, b] = recorded("lstm_batch");
    expect(refusal([a])?.code).toBe("RUNS_SIZES");
    expect(refusal([a, a])?.code).toBe("RUNS_SIZES");
    expect(refusal([a, b], [1])?.code).toBe("RUNS_SIZES");
    expect(refusal([a, b], [3, 3])?.code).toBe("RUNS_SIZES");
  });
});

describe("a size as a polynomial", () => {
  const side = fc.record({ slope: fc.integer({ min: 0, max: 300 }), start: fc.integer({ min: 0, max: 50 }) });
  const three = fc.uniqueArray(fc.integer({ min: 8, max: 5000 }), { minLength: 3, maxLength: 3 });

  it("with two linear sides is found exactly, anywhere", () => {
    fc.assert(
      fc.property(side, side, fc.integer({ min: 1, max: 2 ** 16 }), three, fc.nat(100_000), (a, b, rest, xs, at) => {
        const size = (x: number) => (a.slope * x + a.start) * (b.slope * x + b.start) * rest;
        fc.pre(size(100_000) < Number.MAX_SAFE_INTEGER);
        const sorted = xs.toSorted((p, q) => p - q);
        const polynomial = fitPolynomial(sorted, sorted.map(size));
        expect(isSizeOfTensor(polynomial, sorted)).toBe(true);
        expect(valueAt(polynomial, at)).toBe(size(at));
      }),
    );
  });

  it("through numbers that follow from nothing is hardly ever one", () => {
    const xs = [32, 64, 128];
    let taken = 0;
    const runs = 2000;
    fc.assert(
      fc.property(
        fc.tuple(
          fc.integer({ min: 1, max: 2 ** 20 }),
          fc.integer({ min: 1, max: 2 ** 20 }),
          fc.integer({ min: 1, max: 2 ** 20 }),
        ),
        (ys) => {
          if (isSizeOfTensor(fitPolynomial(xs, ys), xs)) taken++;
        },
      ),
      { numRuns: runs },
    );
    expect(taken).toBeLessThan(runs / 50);
  });
});

test("a storage that is padded is told as irregular, with what it is off", () => {
  const padded = (size: number): SizedRun => {
    const b = new TraceBuilder({ framework: "pytorch", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
    const x = b.tensor({
      storage: b.allocate(4000 * size, "cpu", Category.input),
      dtype: "float32",
      shape: [1000, size],
    });
    const bytes = 4 * Math.ceil(size / 7) * 7;
    const y = b.tensor({
      storage: b.allocate(bytes, "cpu", Category.activation),
      dtype: "float32",
      shape: [bytes / 4],
    });
    b.op({ name: "pad", inputs: [x], outputs: [y] });
    return { name: `padded-${size}`, trace: b.build() };
  };
  const { irregular, residualBytes, peakAt } = extrapolateRuns([10, 20, 45].map(padded));
  expect(irregular).toEqual([1]);
  expect(residualBytes).toBeGreaterThan(0);
  expect(Math.abs(peakAt(100).peakBytes - (400_000 + 4 * 105))).toBeLessThanOrEqual(4 * 14);
});
