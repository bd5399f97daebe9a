import { Category, TraceBuilder } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AllocatorLog,
  judgeAllocatorLog,
  readAllocatorLog,
  storagesOfChunks,
  tensorsOfRequest,
} from "../../src/failure/index.js";
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

/** A number with two decimals is exact to half of the last digit. */
const isNear = (found: number | undefined, bytes: number, digit = 0.01): boolean =>
  found !== undefined &&
  Math.abs(found - bytes) <= Math.max(1, digit * Math.max(1024, 2 ** (10 * Math.floor(Math.log2(bytes + 1) / 10))));

/** TensorFlow writes KiB with one digit after the point. */
const isNearBfc = (found: number | undefined, bytes: number): boolean =>
  isNear(found, bytes, bytes < 2 ** 20 ? 0.05 : 0.01);

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
        expect(isNearBfc(log.limitBytes, state.limitBytes)).toBe(true);
        expect(isNearBfc(log.peakBytes, sum(true))).toBe(true);
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
    expect(tensorsOfRequest({ ...log, askedBytes: 400 }, b.build())).toEqual([
      { op: "Tanh", line: "train.js:5:5", shape: [400], dtype: "int8", bytes: 400, count: 1 },
      { op: "Relu", line: "train.js:4:5", shape: [300], dtype: "int8", bytes: 300, count: 2 },
    ]);
    expect(tensorsOfRequest({ ...log, askedBytes: 2048 }, b.build())).toEqual([]);
    expect(tensorsOfRequest({ ...log, askedBytes: undefined }, b.build())).toEqual([]);
    const known = { dtype: "int8", op: undefined, line: undefined };
    expect(storagesOfChunks(log, b.build())).toEqual([
      { bytes: 2048, chunks: 1, storages: 0, op: undefined, line: undefined, shape: undefined, dtype: undefined },
      { bytes: 512, chunks: 3, storages: 3, ...known, op: "Relu", line: "train.js:4:5", shape: [300] },
      { bytes: 1024, chunks: 1, storages: 1, ...known, shape: [1000] },
    ]);
  });
});

describe("messages of PyTorch's caching allocator", () => {
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
      "other-process",
    ],
    ["nobody has", { askedBytes: 100, pooledBytes: 50, availableBytes: 0, othersBytes: 49 }, "full"],
    ["nobody says what was asked for", { pooledBytes: 50 }, "unknown"],
  ])("is judged where %s", (_what, log, verdict) => {
    expect(judgeAllocatorLog({ ...none, ...log })).toBe(verdict);
  });
});

const MiB = 2 ** 20;
const GiB = 2 ** 30;
const bfcLine = "2018-03-01 10:00:00.124: I tensorflow/core/common_runtime/bfc_allocator.cc:665] ";
/** As programs of several years have printed them. */
const printed: readonly (readonly [of: string, text: string, log: Partial<AllocatorLog>, verdict: string])[] = [
  [
    "PyTorch 1.0",
    "CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total capacity; 8.57 GiB already allocated; 9.28 MiB free; 4.68 MiB cached)",
    { inUseBytes: Math.round(8.57 * GiB), pooledBytes: Math.round(4.68 * MiB), truncated: false },
    "fragmented",
  ],
  [
    "PyTorch 2.1, with a letter less",
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 172.00 MiB. GPU 0 has a total capacty of 14.75 GiB of which 26.81 MiB is free. Process 4062 has 14.72 GiB memory in use. Of the allocated memory 13.57 GiB is allocated by PyTorch, and 102.00 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.",
    // The process that it names is its own: two such processes do not fit on the device.
    { limitBytes: Math.round(14.75 * GiB), pooledBytes: 102 * MiB, truncated: false },
    "full",
  ],
  [
    "PyTorch on ROCm",
    "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.25 GiB. GPU 0 has a total capacity of 15.98 GiB of which 1.10 GiB is free. Of the allocated memory 14.80 GiB is allocated by PyTorch, and 64.00 MiB is reserved by PyTorch but unallocated.",
    { askedBytes: 2.25 * GiB, limitBytes: Math.round(15.98 * GiB), pooledBytes: 64 * MiB, truncated: false },
    "full",
  ],
  [
    "TensorFlow 1",
    [
      "2018-03-01 10:00:00.123: W tensorflow/core/common_runtime/bfc_allocator.cc:275] Allocator (GPU_0_bfc) ran out of memory trying to allocate 256.00MiB.  Current allocation summary follows.",
      `${bfcLine}Chunk at 0x10f5c0d0000 of size 1280`,
      `${bfcLine}Chunk at 0x10f5c0d0500 of size 1048576`,
      `${bfcLine}Free at 0x10f6c0d0500 of size 131072`,
      `${bfcLine}Stats: `,
      "Limit:                     2000000",
      "InUse:                     1049856",
      "MaxInUse:                  1049856",
      "",
      "2018-03-01 10:00:00.125: W tensorflow/core/framework/op_kernel.cc:1192] Resource exhausted: OOM when allocating tensor with shape[64,1024,32,32]",
    ].join("\n"),
    { askedBytes: 256 * MiB, inUseBytes: 1280 + MiB, pooledBytes: 131072, limitBytes: 2e6, truncated: false },
    "full",
  ],
  [
    "TensorFlow 2, as a container's log has it",
    [
      "tensorflow/core/common_runtime/bfc_allocator.cc:491] Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00MiB (rounded to 1048576)requested by op Conv2D",
      "tensorflow/core/common_runtime/bfc_allocator.cc:1066] total_region_allocated_bytes_: 4194304 memory_limit_: 8388608 available bytes: 4194304 curr_region_allocation_bytes_: 8388608",
      "Limit:                     8388608",
      "InUse:                     4000000",
      "MaxInUse:                  4000000",
    ]
      .map((line) => `2024-01-01T00:00:00.000Z stderr F ${line}`)
      .join("\n"),
    // `BFCAllocator::Extend` asks the device for smaller regions, down to the request, while its limit is not reached.
    { op: "Conv2D", inUseBytes: 4e6, pooledBytes: 194304, availableBytes: 4194304, truncated: false },
    "driver",
  ],
  [
    "TensorFlow.js, which prints the error alone",
    "Error: Invalid TF_Status: 8\nMessage: OOM when allocating tensor with shape[512,512,512] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n    at NodeJSKernelBackend.executeSingleOutput",
    { name: "GPU_0_bfc", askedBytes: 512 * MiB, shape: [512, 512, 512], truncated: true },
    "unknown",
  ],
];

describe("a log", () => {
  it.each(printed)("from %s is read", (_of, text, log, verdict) => {
    const read = readAllocatorLog(text);
    expect(read).toMatchObject(log);
    expect(judgeAllocatorLog(read)).toBe(verdict);
    expect(readAllocatorLog(text.replaceAll("\n", "\r\n"))).toEqual(read);
  });

  it.each([
    ["", "it is empty"],
    [" \n", "it is empty"],
    [
      "W tensorflow/tsl/framework/bfc_allocator.cc:485] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.25GiB with freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there could be performance gains if more memory were available.",
      "the log says that this was not a failure: the program continued with less memory",
    ],
    ["TypeError: x is not a function\n", "it contains no out-of-memory report"],
    ["OOM when allocating tensor with shape[2,3]", "it contains no out-of-memory report"],
  ])("of another program is refused: %j", (text, found) => {
    expect(() => readAllocatorLog(text, "oom.log")).toThrow(`oom.log: ${found}. Save the program's whole stderr`);
  });
});
