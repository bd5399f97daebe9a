import { Category, TraceBuilder } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AllocatorLog, judgeAllocatorLog, readAllocatorLog, storagesOfChunks } from "../../src/failure/index.js";
import {
  askedOf,
  bfcArbitrary,
  bfcLog,
  type CudaPool,
  cudaArbitrary,
  cudaError,
  cudaSummary,
  type SimulatedBfc,
} from "./allocator-logs.js";

const none: AllocatorLog = {
  kind: "cuda",
  name: "GPU 0",
  askedBytes: undefined,
  op: undefined,
  shape: undefined,
  dtype: undefined,
  limitBytes: undefined,
  inUseBytes: undefined,
  pooledBytes: undefined,
  availableBytes: undefined,
  largestFreeBytes: undefined,
  othersBytes: undefined,
  peakBytes: undefined,
  sizes: [],
  bins: [],
  truncated: false,
};

/** What is written with two digits after the point is that to half of the last. */
const isNear = (found: number | undefined, bytes: number, digit = 0.01): boolean =>
  found !== undefined &&
  Math.abs(found - bytes) <= Math.max(1, digit * Math.max(1024, 2 ** (10 * Math.floor(Math.log2(bytes + 1) / 10))));

describe("the log of TensorFlow's BFC allocator", () => {
  it("gives what the allocator was in, chunk by chunk", () => {
    fc.assert(
      fc.property(bfcArbitrary, (state) => {
        const chunks = state.regions.flat();
        const sum = (inUse: boolean): number =>
          chunks.reduce((all, chunk) => all + (chunk.inUse === inUse ? chunk.bytes : 0), 0);
        const log = readAllocatorLog(bfcLog(state));
        expect(log).toMatchObject({
          kind: "bfc",
          name: state.name,
          askedBytes: askedOf(state),
          op: state.op,
          shape: state.shape,
          dtype: "float32",
          inUseBytes: sum(true),
          pooledBytes: sum(false),
          largestFreeBytes: Math.max(0, ...chunks.filter(({ inUse }) => !inUse).map(({ bytes }) => bytes)),
          truncated: false,
        });
        expect(isNear(log.limitBytes, state.limitBytes)).toBe(true);
        expect(isNear(log.peakBytes, sum(true))).toBe(true);
        const told = log.sizes.flatMap(({ bytes, inUse, free }) => [
          ...Array.from({ length: inUse }, () => `${bytes} in use`),
          ...Array.from({ length: free }, () => `${bytes} free`),
        ]);
        const had = chunks.map(({ bytes, inUse }) => `${bytes} ${inUse ? "in use" : "free"}`);
        expect(told.toSorted()).toEqual(had.toSorted());
        expect(log.bins.reduce((all, { chunks: n = 0 }) => all + n, 0)).toBe(chunks.length);
      }),
      { numRuns: 100 },
    );
  });

  it("is of the last time that the allocator failed, and says where it breaks off", () => {
    fc.assert(
      fc.property(bfcArbitrary, bfcArbitrary, fc.double({ min: 0, max: 1, noNaN: true }), (first, last, part) => {
        const [before, text] = [bfcLog(first), bfcLog(last)];
        expect(readAllocatorLog(before + text)).toEqual(readAllocatorLog(text));
        const start = text.indexOf("\n", text.indexOf("ran out of memory"));
        const end = text.indexOf("MaxInUse");
        const cut = readAllocatorLog(text.slice(0, start + Math.floor(part * (end - start))));
        expect(cut).toMatchObject({ name: last.name, askedBytes: askedOf(last), truncated: true });
      }),
      { numRuns: 50 },
    );
  });

  const state = (chunks: readonly (readonly [bytes: number, inUse: boolean])[], limitBytes: number): SimulatedBfc => ({
    name: "GPU_0_bfc",
    regions: [chunks.map(([bytes, inUse]) => ({ bytes, inUse }))],
    limitBytes,
    shape: [256],
    op: "Conv2D",
  });

  it("tells fragments from want", () => {
    const verdict = (of: SimulatedBfc) => judgeAllocatorLog(readAllocatorLog(bfcLog(of)));
    expect(
      verdict(
        state(
          [
            [512, true],
            [768, false],
            [256, true],
            [512, false],
          ],
          2048,
        ),
      ),
    ).toBe("fragmented");
    expect(
      verdict(
        state(
          [
            [512, true],
            [768, false],
            [512, true],
          ],
          1792,
        ),
      ),
    ).toBe("full");
  });

  it("has the sizes of storages of a trace beside it", () => {
    const b = new TraceBuilder({ framework: "tfjs", device: "cuda:0", mode: "real", allocationUnitBytes: 1 });
    const tensor = (bytes: number, category: number): number =>
      b.tensor({ storage: b.allocate(bytes, "cuda:0", category), dtype: "int8", shape: [bytes] });
    const w = tensor(1000, Category.parameter);
    for (let i = 0; i < 2; i++)
      b.op({ name: "Relu", inputs: [w], outputs: [tensor(300, Category.activation)], line: "train.js:4:5" });
    b.op({ name: "Tanh", inputs: [w], outputs: [tensor(400, Category.activation)], line: "train.js:5:5" });
    const log = readAllocatorLog(
      bfcLog(
        state(
          [
            [512, true],
            [512, true],
            [512, true],
            [1024, true],
            [2048, true],
            [256, false],
          ],
          8192,
        ),
      ),
    );
    const known = { dtype: "int8", op: undefined, line: undefined };
    expect(storagesOfChunks(log, b.build())).toEqual([
      { bytes: 2048, chunks: 1, storages: 0, op: undefined, line: undefined, shape: undefined, dtype: undefined },
      { bytes: 512, chunks: 3, storages: 3, ...known, op: "Relu", line: "train.js:4:5", shape: [300] },
      { bytes: 1024, chunks: 1, storages: 1, ...known, shape: [1000] },
    ]);
  });
});

describe("what PyTorch's caching allocator says", () => {
  it.each([true, false])("in its error gives what it was in; since release 2.0: %s", (since2) => {
    fc.assert(
      fc.property(cudaArbitrary, (state) => {
        const text = `Traceback\n${cudaError({ ...state, askedBytes: 1 }, since2)}${cudaError(state, since2)}`;
        const log = readAllocatorLog(text);
        expect(log).toMatchObject({ kind: "cuda", name: `GPU ${state.device}`, truncated: false });
        const sum = (field: keyof CudaPool): number => state.small[field] + state.large[field];
        const pairs: readonly (readonly [number | undefined, number])[] = [
          [log.askedBytes, state.askedBytes],
          [log.limitBytes, state.limitBytes],
          [log.inUseBytes, sum("inUseBytes")],
          [log.availableBytes, state.freeBytes],
        ];
        for (const [found, bytes] of pairs) expect([found, bytes, isNear(found, bytes)]).toEqual([found, bytes, true]);
        // Before, it is the difference of two that were rounded.
        const pooled = sum("reservedBytes") - sum("inUseBytes");
        expect(Math.abs(log.pooledBytes! - pooled)).toBeLessThanOrEqual(
          since2 ? Math.max(1, 0.01 * 2 ** 30) : 0.02 * 2 ** 30,
        );
      }),
      { numRuns: 200 },
    );
  });

  it("in its summary gives both pools", () => {
    fc.assert(
      fc.property(cudaArbitrary, (state) => {
        const log = readAllocatorLog(cudaSummary(state));
        expect(log).toMatchObject({ name: `GPU ${state.device}`, askedBytes: undefined, truncated: false });
        for (const [name, pool] of [
          ["large pool", state.large],
          ["small pool", state.small],
        ] as const) {
          const bin = log.bins.find((each) => each.name === name)!;
          expect(bin.chunksInUse).toBe(pool.allocations);
          expect(Math.abs(bin.inUseBytes - pool.inUseBytes)).toBeLessThanOrEqual(pool.inUseBytes / 700);
          expect(Math.abs(bin.reservedBytes - pool.reservedBytes)).toBeLessThanOrEqual(pool.reservedBytes / 700);
        }
        const [beside, alone] = [
          readAllocatorLog(cudaError(state, true) + cudaSummary(state)),
          readAllocatorLog(cudaError(state, true)),
        ];
        expect(beside).toEqual({ ...alone, bins: log.bins, peakBytes: log.peakBytes });
      }),
      { numRuns: 200 },
    );
  });

  it.each<[what: string, log: Partial<AllocatorLog>, verdict: string]>([
    ["enough is free in pieces", { askedBytes: 100, pooledBytes: 80, availableBytes: 30 }, "fragmented"],
    [
      "others have more than what lacks",
      { askedBytes: 100, pooledBytes: 50, availableBytes: 0, othersBytes: 50 },
      "shared",
    ],
    ["nobody has", { askedBytes: 100, pooledBytes: 50, availableBytes: 0, othersBytes: 49 }, "full"],
    ["nobody says what was asked for", { pooledBytes: 50 }, "unknown"],
  ])("is judged where %s", (_what, log, verdict) => {
    expect(judgeAllocatorLog({ ...none, ...log })).toBe(verdict);
  });
});

describe("a log", () => {
  it.each([
    ["", "it is empty"],
    [" \n", "it is empty"],
    ["TypeError: x is not a function\n", "there is nothing of either in it"],
    ["OOM when allocating tensor with shape[2,3]", "there is nothing of either in it"],
  ])("of another program is refused: %j", (text, found) => {
    expect(() => readAllocatorLog(text, "oom.log")).toThrow(
      `oom.log: ${found}. Expected what TensorFlow's BFC allocator logs`,
    );
  });
});
